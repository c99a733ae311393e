"""The picture of a profile: memory by operation, who freed it, or time; a click on a bar chooses its row."""

from __future__ import annotations

import streamlit as st

from engine.figures.profiler_flow import flow_chart
from engine.figures.profiler_memory import memory_chart
from engine.figures.profiler_rows import labels_of, memory_bars
from engine.figures.profiler_time import left_out_words, self_chart, time_chart
from engine.profiler.spec import Profiled
from pages.memory.profiler_controls import FLOW, LOG, MEMORY
from pages.memory.profiler_row import choose_row
from pages.shared.theme import shown_theme

PLAIN = {"displaylogo": False, "displayModeBar": False}
WITH_PNG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
TALLEST = 620


def draw_picture(view: str, profiled: Profiled, place: int | None) -> None:
    """The chosen picture with the chosen row marked in it."""
    if not profiled.rows:
        st.info("Nothing was recorded: no operation ran.", icon=":material/info:")
    elif view == MEMORY:
        _draw_memory(profiled, place)
    elif view == FLOW:
        figure = flow_chart(profiled, shown_theme(), place)
        st.plotly_chart(figure, key="profiler.flow", config=WITH_PNG)
    else:
        _draw_time(profiled, place)


def _draw_memory(profiled: Profiled, place: int | None) -> None:
    bars = memory_bars(profiled, place)
    if not bars:
        st.info("No operation allocated or freed anything.", icon=":material/info:")
        return
    names = labels_of(profiled.rows)

    def choose() -> None:
        points = st.session_state["profiler.memory"].selection.points
        number = points[0].get("y") if points else None
        if isinstance(number, int | float) and 0 <= number < len(bars) and len(bars[int(number)].places) == 1:
            choose_row(names[bars[int(number)].places[0]])

    st.plotly_chart(
        memory_chart(profiled, shown_theme(), place, log=bool(st.session_state.get(LOG))),
        key="profiler.memory",
        on_select=choose,
        selection_mode="points",
        config=PLAIN,
    )


def _draw_time(profiled: Profiled, place: int | None) -> None:
    figure = time_chart(profiled, shown_theme(), place)
    tall = figure.layout.height > TALLEST
    with st.container(height=TALLEST if tall else "content", border=tall, key="profiler.time-frame"):
        st.plotly_chart(figure, key="profiler.time", config=WITH_PNG)
    st.caption(
        f"Every time includes the profiler's own work around each operation: see *Cost*. {left_out_words(profiled)}"
    )
    st.plotly_chart(self_chart(profiled, shown_theme()), key="profiler.self", config=PLAIN)
