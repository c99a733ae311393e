"""The row that a reader looks at: chosen by name, by a click on its bar, or in the table."""

from __future__ import annotations

import streamlit as st

from engine.figures.profiler_rows import default_row, labels_of
from engine.profiler.spec import Profiled
from pages.shared.fields import common_arguments

ROW = "profiler.row"


def draw_row_choice(profiled: Profiled) -> int | None:
    """The choice of a row; its place in the table, None where there is none."""
    names = labels_of(profiled.rows)
    if not names:
        return None
    if st.session_state.get(ROW, names[0]) not in names:
        del st.session_state[ROW]
    chosen = st.selectbox(
        "Row of the table", names, index=default_row(profiled), **common_arguments(ROW, "Also by a click on its bar")
    )
    return names.index(chosen) if chosen in names else default_row(profiled)


def choose_row(name: str) -> None:
    """Look at another row; call it from a widget callback."""
    st.session_state[ROW] = name
