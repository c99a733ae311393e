"""A running sum in several formats: where it stops growing."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from engine.figures.number_format_charts import sum_chart
from engine.figures.number_format_words import RUN_COLUMNS, run_rows
from engine.figures.units import format_count
from engine.number_format.results import RunningSums
from engine.number_format.spec import RunningSumSpec
from pages.memory.number_formats_value import CHART
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

HOW_TO_READ = (
    "A sum stops growing once the addend is less than half of the spacing at the total: the nearest number to the sum "
    "is then the total itself. The spacing doubles with every power of two, so each format stops at one. `torch.sum` "
    "here adds the start and the same numbers, `torch.cat([start, addends]).sum()`: in float32 inside, converted once, "
    "which is why its result is another."
)


def draw_sums(spec: RunningSumSpec, found: RunningSums, before: RunningSums | None) -> None:
    """In words, totals over additions, numbers, the table."""
    st.markdown(headline(found))
    start = float(spec.numbers[0].value)
    st.plotly_chart(sum_chart(found, (start, found.exact_total), shown_theme()), key="format.sums", config=CHART)
    draw_key_numbers(numbers_of(found), None if before is None else numbers_of(before))
    st.dataframe(pd.DataFrame(run_rows(found), columns=list(RUN_COLUMNS)), hide_index=True, width="stretch")
    with st.expander("How to read this", key="format.sums.explanation"):
        st.markdown(HOW_TO_READ)


def headline(found: RunningSums) -> str:
    """The exact total, and which formats stand still."""
    exact = found.exact_total
    beyond = f"beyond float64, whose largest number is 1.8e308: {exact:g} here"
    total = f"**{exact:.12g}**" if math.isfinite(exact) else beyond
    words = [
        f"**{run.dtype}** stands still at {run.total:g} from addition {format_count(run.stops_at)}"
        for run in found.runs
        if run.stops_at is not None and not run.emulated
    ]
    return ". ".join([f"The exact total is {total}", *words]) + "."


def numbers_of(found: RunningSums) -> tuple[KeyNumber, ...]:
    """The total in every format."""
    return tuple(
        KeyNumber(
            f"Total in {run.dtype.removeprefix('float8_')}", run.total, "exact", "`total + addend`, again and again"
        )
        for run in found.runs
    )
