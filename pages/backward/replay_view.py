"""How to look at the graph that plays: what the controls and the link say, as a GraphView."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from engine.figures.view import Direction, GraphView
from pages.shared.bound import bind, none_but
from pages.shared.detail import CEILING, DETAIL, READABLE
from pages.shared.link import forget_opened_groups, inside_group, look_inside, opened_groups

PICTURE_HEIGHT = 560
READABLE_AREA = (930, PICTURE_HEIGHT - 70)
"""Pixels of the picture in a window 1280 wide, without the bar under it."""


def current_view() -> GraphView:
    """The view that the options and the link describe."""
    detail = st.session_state.get("replay.detail") or "balanced"
    return GraphView(
        expanded=opened_groups(),
        inside=inside_group(),
        direction=st.session_state.get("replay.direction") or "backward",
        maximum_boxes=DETAIL[detail],
        ceiling_boxes=max(CEILING, 5 * DETAIL[detail] // 4),
        legible_in=READABLE_AREA if detail in READABLE else None,
        show_removed=bool(st.session_state.get("ghosts", True)),
    )


def draw_options(*, comparing: bool) -> None:
    """The controls, and ways back from what was opened by hand."""
    with st.popover("View", icon=":material/tune:"):
        _draw_choice("Direction", "replay.direction", get_args(Direction), "backward")
        _draw_choice("Detail", "replay.detail", tuple(DETAIL), "balanced")
        if comparing:
            st.toggle("Draw removed nodes as ghosts", True, **bind("ghosts"))
    if inside_group():
        st.button("Whole graph", icon=":material/zoom_out_map:", on_click=look_inside, args=("",), type="tertiary")
    if opened_groups() is not None:
        st.button("Reset folding", icon=":material/unfold_less:", on_click=forget_opened_groups, type="tertiary")


def _draw_choice(label: str, key: str, options: tuple[str, ...], default: str) -> None:
    st.segmented_control(
        label,
        options,
        default=default,
        required=True,
        on_change=forget_opened_groups,
        **bind(key, why=none_but(options)),
    )
