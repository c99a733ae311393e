"""What every page has around its picture: title, question, presets, pin, code, export and presenter mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.models.spec import ModelSpec
from engine.runner.contract import Spec
from engine.script import script_for
from pages.shared.bound import bind
from pages.shared.downloads import Download
from pages.shared.model_controls import current_model
from pages.shared.page_end import end_page
from pages.shared.pin import draw_differing, draw_pin
from pages.shared.presets import Preset, choose_preset, cover_answer, draw_preset

T = TypeVar("T")

PRESENTER_STYLE = Path(__file__).parent / "presenter.css"


def draw_title(title: str, question: str) -> None:
    """The page's name and the one-line question it answers."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="page-title"):
        st.title(title, anchor=False, width="content")
        st.markdown(f":gray[{question}]", width="content")


def model_or_stop(presets: Sequence[Preset]) -> ModelSpec:
    """The model of the sidebar, or like `spec_or_stop` the end of this page."""
    return spec_or_stop(current_model, presets)


def spec_or_stop(build: Callable[[], T], presets: Sequence[Preset]) -> T:
    """What `build` makes of the controls; when it raises ValueError, says why, offers the questions and ends."""
    try:
        return build()
    except ValueError as error:
        choose_preset(presets)
        st.error("**These settings cannot be used**", icon=":material/tune:")
        st.text(str(error))
        end_page()


def draw_toolbar(spec: Spec[Any], presets: Sequence[Preset], *, pinned: str = "A") -> DeltaGenerator:
    """Questions, pin, code, export and presenter mode in one row; returns the place for `draw_exports`."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="toolbar"):
        choose_preset(presets)
        draw_pin(spec, pinned)
        with st.popover("Code", icon=":material/code:", help="Plain PyTorch that prints what this page shows"):
            st.code(script_for(spec), language="python", height=420)
        exports = st.empty()
        st.toggle("Present", help="Larger, with steps", **bind("present"))
    if st.session_state.get("present"):
        st.html(PRESENTER_STYLE)
    draw_preset(presets)
    if st.session_state.get("present"):
        cover_answer(presets)
    draw_differing(spec, pinned)
    return exports


def draw_exports(place: DeltaGenerator, downloads: Sequence[Download]) -> None:
    """One button per file, made only when clicked."""
    with place.popover("Export", icon=":material/download:"):
        for number, download in enumerate(downloads):
            st.download_button(
                download.label,
                data=download.content,
                file_name=download.file_name,
                mime=download.mime,
                key=f"download.{number}",
                on_click="ignore",
                width="stretch",
            )
