"""What profiling itself costs, measured in interleaved rounds against the same run without it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.timing_chart import ratio_chart
from engine.figures.units import format_count, format_significant, format_time
from engine.profiler.spec import ProfilingCost
from pages.shared.key_numbers import KeyNumber
from pages.shared.theme import shown_theme

WAYS = {
    "plain": "no profiler",
    "profile()": "times and names of operations",
    "profile_memory": "also every allocation and free",
    "+ record_shapes": "also the shapes of all inputs: the article's arguments",
    "+ with_stack": "also every Python call",
}
COLUMNS = ["profiler", "median per step", "times plain", "95 % band", "differs", "what it records"]


def draw_cost(cost: ProfilingCost) -> None:
    """Every setting against plain, as a picture."""
    comparison = cost.comparison
    st.plotly_chart(ratio_chart(comparison, shown_theme()), key="profiler.cost.chart", config={"displayModeBar": False})


def draw_cost_table(cost: ProfilingCost) -> None:
    """The same as a table, and what the times are of."""
    comparison = cost.comparison
    st.dataframe(pd.DataFrame(cost_rows(cost), columns=COLUMNS), hide_index=True, width="stretch")
    st.caption(
        "Forward, loss and backward of this model, each time from no gradients, profiled and plain in turn. Times of a "
        "profile contain this; a share of time is distorted most where operations are many and short. "
        f"{' '.join(comparison.notes)}"
    )


def cost_rows(cost: ProfilingCost) -> list[tuple[str, ...]]:
    """One row of words per setting."""
    comparison, rows = cost.comparison, list[tuple[str, ...]]()
    ratios = {ratio.name: ratio for ratio in comparison.ratios}
    for name, seconds in zip(comparison.names, comparison.median_s, strict=True):
        ratio = ratios.get(name)
        band = "" if ratio is None else f"{format_significant(ratio.low)} to {format_significant(ratio.high)}"
        times = "1" if ratio is None else format_significant(ratio.ratio)
        differs = "" if ratio is None else "yes" if ratio.shows_a_difference else "no difference shown"
        rows.append((name, format_time(seconds), times, band, differs, WAYS[name]))
    return rows


def cost_numbers(cost: ProfilingCost) -> tuple[KeyNumber, ...]:
    """The plain step, the two ends of what profiling adds, and what reading the profile takes."""
    ratios = {ratio.name: ratio.ratio for ratio in cost.comparison.ratios}
    clock = f"{cost.comparison.clock} time, median of {cost.comparison.rounds} rounds"
    return (
        KeyNumber("A plain step", cost.comparison.median_s[0], "s", clock),
        KeyNumber("profile(), times plain", ratios["profile()"], "", f"{clock}, paired ratios"),
        KeyNumber("with_stack, times plain", ratios["+ with_stack"], "", f"{clock}, paired ratios"),
        KeyNumber("key_averages()", cost.reading_s, "s", f"wall time once, over {format_count(cost.events)} events"),
        KeyNumber("Events", cost.events, "count", "kineto_results.events() with every setting on"),
    )
