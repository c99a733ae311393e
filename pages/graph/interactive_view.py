"""The interactive picture with its options, and what is selected in it."""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

import msgspec
import streamlit as st

from engine import run
from engine.figures.difference import Difference, difference
from engine.figures.index import GraphIndex, index_of
from engine.figures.reveal import revealed
from engine.figures.scene import Prepared, Scene, draw, encode_scene, prepare, toggled
from engine.figures.view import ColourBy, Direction, GraphView
from engine.graph.spec import GraphSpec
from pages.graph.node_details import draw_selection
from pages.graph.numbers_row import key_numbers
from pages.shared.graph_component import show_graph
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.link import forget_opened_groups, open_groups, opened_groups

PICTURE_HEIGHT = 540
LISTED = 500
DETAIL = {"overview": 25, "balanced": 60, "detailed": 200}
READABLE_AREA = (930, PICTURE_HEIGHT)
"""Pixels of the picture in a window 1280 wide: what opens by itself stays readable there, except in full detail."""


@st.fragment
def draw_interactive(spec: GraphSpec, pinned: GraphSpec | None) -> None:
    """Picture, key numbers and the selected node; a click reruns only this."""
    traced = run(spec)
    scene, encoded = picture(spec, pinned, current_view())
    selection = show_graph(
        encoded,
        key="graph",
        height=PICTURE_HEIGHT,
        on_toggle=lambda address: _toggle(scene, address),
        on_reveal=lambda address: _reveal(spec, pinned, scene, address),
    )
    if pinned is not None:
        _draw_changes(changes(spec, pinned))
    draw_key_numbers(key_numbers(traced), key_numbers(run(pinned)) if pinned else None)
    draw_selection(traced, scene, selection.selected)


@lru_cache(maxsize=64)
def picture(spec: GraphSpec, pinned: GraphSpec | None, view: GraphView) -> tuple[Scene, bytes]:
    """The scene of a traced model and the same encoded for the canvas."""
    prepared, index = indexed(spec, pinned, closed(view))
    scene = draw(prepared, view)
    return scene, encode_scene(scene, index)


@lru_cache(maxsize=4)
def indexed(spec: GraphSpec, pinned: GraphSpec | None, view: GraphView) -> tuple[Prepared, GraphIndex]:
    """What all pictures of one graph share however they are opened, and what search reads."""
    traced = run(spec)
    kinds = {leaf.name: leaf.kind for leaf in traced.leaves}
    prepared = prepare(
        traced.graph,
        view,
        pinned=run(pinned).graph if pinned else None,
        types={call.path: call.type for call in traced.modules},
        kinds=kinds,
        modules=traced.modules,
    )
    return prepared, index_of(traced.graph, prepared.folded, prepared.names, kinds)


def closed(view: GraphView) -> GraphView:
    """`view` without what does not matter to `prepare`."""
    return msgspec.structs.replace(view, expanded=None, inside="", colour_by="kind", direction="forward")


@lru_cache(maxsize=64)
def changes(spec: GraphSpec, pinned: GraphSpec) -> Difference:
    """Nodes that only `spec` or only `pinned` has."""
    return difference(run(pinned).graph, run(spec).graph)


def current_view() -> GraphView:
    """The view that the options and the link describe."""
    detail = st.session_state.get("detail") or "balanced"
    return GraphView(
        expanded=opened_groups(),
        colour_by=st.session_state.get("colour") or "kind",
        direction=st.session_state.get("direction") or "forward",
        maximum_boxes=DETAIL[detail],
        legible_in=None if detail == "detailed" else READABLE_AREA,
        fold_views=not st.session_state.get("views", False),
        fold_transposes=not st.session_state.get("views", False),
    )


def _toggle(scene: Scene, address: str) -> None:
    open_groups(toggled(current_view(), scene, address).expanded or ())


def _reveal(spec: GraphSpec, pinned: GraphSpec | None, scene: Scene, address: str) -> None:
    view, _ = revealed(indexed(spec, pinned, closed(current_view()))[0], current_view(), scene, address)
    if view is not None:
        open_groups(view.expanded or ())


def draw_options() -> None:
    """How to look at the graph; the values are read by `current_view`."""
    with st.popover("View", icon=":material/tune:"):
        _draw_choice("Colour", "colour", get_args(ColourBy))
        _draw_choice("Direction", "direction", get_args(Direction))
        _draw_choice("Detail", "detail", tuple(DETAIL), default="balanced")
        st.toggle("Draw views and transposes", key="views", bind="query-params", persist_state="session")
    if opened_groups() is not None:
        st.button("Reset folding", icon=":material/unfold_less:", on_click=forget_opened_groups, type="tertiary")


def _draw_choice(label: str, key: str, options: tuple[str, ...], default: str | None = None) -> None:
    st.segmented_control(
        label,
        options,
        default=default or options[0],
        required=True,
        key=key,
        on_change=forget_opened_groups if key == "detail" else None,
        bind="query-params",
        persist_state="session",
    )


def _draw_changes(change: Difference) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Against A: {len(change.added)} nodes added, {len(change.removed)} gone.", width="content")
        for label, names in (("Which are new", change.added), ("Which are gone", change.removed)):
            if names:
                with st.popover(label, type="tertiary"):
                    more = f"\n… and {len(names) - LISTED} more" if len(names) > LISTED else ""
                    st.code("\n".join(names[:LISTED]) + more, language=None, height=320)
