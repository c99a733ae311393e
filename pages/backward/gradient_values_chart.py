"""The chart of all leaves, on which a click chooses one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.figures.leaf_chart import Series, chosen_leaf, leaf_chart
from pages.backward.gradient_values_controls import CHART, LEAF, draw_leaf_choice
from pages.shared.theme import shown_theme

PRESENTED_HEIGHT, HEIGHT = 520, 400


def draw_leaf_chart(
    names: Sequence[str],
    series: Sequence[Series],
    *,
    y_title: str,
    preferred: int = 0,
    lines: Sequence[tuple[float, str]] = (),
) -> int:
    """The chart with the choice of a leaf below; returns the chosen leaf's number."""
    picture, listed = st.container(), list(names)
    number = draw_leaf_choice(listed, preferred)
    height = PRESENTED_HEIGHT if st.session_state.get("present") else HEIGHT
    figure = leaf_chart(names, series, shown_theme(), y_title=y_title, selected=number, lines=lines, height=height)
    with picture:
        st.plotly_chart(
            figure,
            key=CHART,
            on_select=lambda: _choose(listed),
            selection_mode="points",
            config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
        )
    return number


def _choose(names: list[str]) -> None:
    number = chosen_leaf(st.session_state.get(CHART), len(names))
    if number is not None:
        st.session_state[LEAF] = names[number]
