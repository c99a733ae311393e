"""The picture: the cells of the chosen tensors beside the storages they read."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from engine import run
from engine.figures.cells import CellScene, encode_cells
from engine.figures.storage_cells import storage_scene
from engine.storage.spec import LayoutSpec, LayoutTrace
from pages.shared.bound import bind, none_but
from pages.shared.cells_component import show_cells

SHOWN = "storage.shown"
CHOICES = ("end", "start and end", "every step")
PICTURE_HEIGHT = 550


def draw_shown() -> None:
    """Which tensors of the chain the picture has."""
    st.segmented_control(
        "Picture of",
        CHOICES,
        default="start and end",
        required=True,
        label_visibility="collapsed",
        **bind(SHOWN, why=none_but(CHOICES)),
    )


def shown_steps(trace: LayoutTrace) -> tuple[int, ...]:
    """Numbers of the tensors to draw; 0 is x itself."""
    last = len(trace.layouts) - 1
    chosen = st.session_state.get(SHOWN) or "start and end"
    if chosen == "every step":
        return tuple(range(last + 1))
    return (last,) if chosen == "end" or not last else (0, last)


@st.fragment
def draw_picture(spec: LayoutSpec) -> None:
    """The linked cells; pointing at one happens in the browser."""
    trace = run(spec)
    if not trace.layouts:
        return
    _, encoded = picture(spec, shown_steps(trace))
    show_cells(encoded, key="storage.cells", height=PICTURE_HEIGHT)


@lru_cache(maxsize=64)
def picture(spec: LayoutSpec, steps: tuple[int, ...]) -> tuple[CellScene, bytes]:
    """The scene of the chosen tensors and the same encoded for the canvas."""
    scene = storage_scene(run(spec), steps)
    return scene, encode_cells(scene)
