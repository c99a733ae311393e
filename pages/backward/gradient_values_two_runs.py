"""The section on two runs: cosine and difference of every leaf's gradient between A and B."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from engine.figures.heat_map import summary_heat_map
from engine.figures.histogram import summary_histogram
from engine.figures.leaf_chart import Series
from engine.figures.spec_differences import spec_differences
from engine.figures.units import format_significant
from engine.gradients.results import Differences, Distance
from engine.gradients.spec import DifferenceSpec, GradientsSpec
from pages.backward.gradient_values_chart import draw_leaf_chart
from pages.backward.gradient_values_words import cosine_words, draw_run_error, draw_table
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import code_text
from pages.shared.theme import shown_theme

TABS = ("Chosen leaf", "Every leaf", "How to read this")
HOW_TO_READ = (
    "**1 − cosine** is how far B's gradient points away from A's: 0 is the same direction, 1 a right angle, 2 the "
    "opposite. **relative difference** is ‖B − A‖ / ‖A‖, which also sees a change of length. Both runs happen in one "
    "job; their gradients are compared in float64. A cosine of 1 can hide a wrong factor, and rounding alone gives "
    "relative differences near 1e-7 (float32), 1e-3 (float16) or 1e-2 (bfloat16). *Identical* means the same bits."
)


def difference_series(outcome: Differences) -> tuple[Series, ...]:
    """1 - cosine and the relative difference of every leaf."""
    words = tuple(row.missing or ("identical to the last bit" if row.identical else "") for row in outcome.rows)
    gaps = tuple(_gap(row) for row in outcome.rows)
    relative = tuple(None if row.missing else row.relative for row in outcome.rows)
    return (Series("1 − cosine", "gradient", gaps, words), Series("‖B − A‖ / ‖A‖", 1, relative, words))


def _gap(row: Distance) -> float | None:
    """Rounding can put the cosine of nearly equal vectors a few units beyond 1."""
    return None if row.cosine is None else row.cosine if math.isnan(row.cosine) else max(0.0, 1 - row.cosine)


def difference_numbers(outcome: Differences) -> tuple[KeyNumber, ...]:
    """Of all gradients as one vector."""
    whole, compared = outcome.whole, [row for row in outcome.rows if not row.missing]
    none = "nothing to compare"
    told = bool(compared)
    return (
        KeyNumber(
            "1 − cosine", _gap(whole) if told else None, "", "both runs' `.grad` of all leaves as one vector", none
        ),
        KeyNumber("Relative", whole.relative if told else None, "", "`(b - a).norm() / a.norm()` in float64", none),
        KeyNumber("Max |B − A|", whole.max_abs if told else None, "", "`(b - a).abs().max()` in float64", none),
        KeyNumber("Identical", sum(row.identical for row in compared), "count", "leaves whose `.grad` has equal bits"),
        KeyNumber("Compared", len(compared), "count", "leaves with a `.grad` in both runs"),
    )


@st.fragment
def draw_two_runs(spec: DifferenceSpec, outcome: Differences, before: Differences | None) -> None:
    """Verdict, chart, key numbers, the chosen leaf's difference, the table."""
    _draw_sides(spec)
    draw_run_error(outcome.error_a, "run A")
    draw_run_error(outcome.error_b, "run B")
    if not outcome.rows:
        st.info("Neither run has a leaf that requires a gradient.", icon=":material/do_not_disturb_on:")
        return
    names = [row.name for row in outcome.rows]
    number = draw_leaf_chart(names, difference_series(outcome), y_title="difference of B from A")
    draw_key_numbers(difference_numbers(outcome), difference_numbers(before) if before else None)
    chosen, every, explanation = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if chosen.open:
        with chosen:
            draw_distance(outcome.rows[number])
    if every.open:
        with every:
            table = difference_table(outcome)
            draw_table(table)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)


def _draw_sides(spec: DifferenceSpec) -> None:
    a, b = spec.pair
    found = spec_differences(GradientsSpec(model=a), GradientsSpec(model=b))
    told = [f"`{code_text(one.name)}`: `{code_text(one.a)}` → `{code_text(one.b)}`" for one in found]
    st.caption("A → B: " + (" · ".join(told) if told else "the same settings: nothing differs"))


def draw_distance(row: Distance) -> None:
    """One leaf's difference: words, map and spread."""
    if row.missing or row.difference is None:
        st.info(f"`{row.name}`: {row.missing}", icon=":material/do_not_disturb_on:")
        return
    same = "identical to the last bit" if row.identical else f"largest |B − A| {format_significant(row.max_abs)}"
    st.markdown(
        f"`{row.name}`: cosine {cosine_words(row.cosine)}, relative difference {format_significant(row.relative)}, "
        f"{same}; A `{row.dtype_a}` norm {format_significant(row.norm_a)}, "
        f"B `{row.dtype_b}` norm {format_significant(row.norm_b)}"
    )
    theme, plain = shown_theme(), {"displayModeBar": False}
    left, right = st.columns(2, gap="medium")
    with left:
        figure = summary_heat_map(row.difference, theme, title=f"{row.name}: B − A")
        st.plotly_chart(figure, key="gradients.map.difference", config=plain)
    with right:
        figure = summary_histogram(row.difference, theme, title=f"{row.name}: spread of B − A")
        st.plotly_chart(figure, key="gradients.spread.difference", config=plain)


def difference_table(outcome: Differences) -> pd.DataFrame:
    """One row per leaf."""
    rows = outcome.rows
    return pd.DataFrame(
        {
            "leaf": [row.name for row in rows],
            "cosine": [row.cosine for row in rows],
            "‖B − A‖ / ‖A‖": [None if row.missing else row.relative for row in rows],
            "max |B − A|": [None if row.missing else row.max_abs for row in rows],
            "‖A‖": [None if row.missing else row.norm_a for row in rows],
            "‖B‖": [None if row.missing else row.norm_b for row in rows],
            "identical": [row.identical for row in rows],
            "dtypes": [" / ".join(dict.fromkeys((row.dtype_a, row.dtype_b))) for row in rows],
            "missing": [row.missing for row in rows],
        }
    )
