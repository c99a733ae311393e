"""How to look at the graph: what the controls and the link say, as a GraphView."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from engine.figures.view import ColourBy, Direction, GraphView
from pages.shared.bound import bind, none_but
from pages.shared.detail import CEILING, DETAIL, READABLE, READABLE_AREA
from pages.shared.link import forget_opened_groups, inside_group, look_inside, opened_groups


def current_view() -> GraphView:
    """The view that the options and the link describe."""
    detail = st.session_state.get("detail") or "balanced"
    all_views = bool(st.session_state.get("views", False))
    return GraphView(
        expanded=opened_groups(),
        inside=inside_group(),
        colour_by=st.session_state.get("colour") or "kind",
        direction=st.session_state.get("direction") or "forward",
        maximum_boxes=DETAIL[detail],
        ceiling_boxes=max(CEILING, 5 * DETAIL[detail] // 4),
        legible_in=READABLE_AREA if detail in READABLE else None,
        fold_views=not all_views,
        fold_transposes=not all_views,
        show_removed=bool(st.session_state.get("ghosts", True)),
    )


def draw_options(comparing: bool) -> None:
    """The controls, and ways back from what was opened by hand."""
    with st.popover("View", icon=":material/tune:"):
        _draw_choice("Colour", "colour", get_args(ColourBy))
        _draw_choice("Direction", "direction", get_args(Direction))
        _draw_choice("Detail", "detail", tuple(DETAIL), default="balanced")
        st.toggle("Draw views and transposes", **bind("views"))
        if comparing:
            st.toggle("Draw removed nodes as ghosts", True, **bind("ghosts"))
    if inside_group():
        st.button("Whole graph", icon=":material/zoom_out_map:", on_click=look_inside, args=("",), type="tertiary")
    if opened_groups() is not None:
        st.button("Reset folding", icon=":material/unfold_less:", on_click=forget_opened_groups, type="tertiary")


def _draw_choice(label: str, key: str, options: tuple[str, ...], default: str | None = None) -> None:
    st.segmented_control(
        label,
        options,
        default=default or options[0],
        required=True,
        on_change=forget_opened_groups if key == "detail" else None,
        **bind(key, why=none_but(options)),
    )
