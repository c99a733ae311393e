"""The section on accumulation: micro-batches against one large batch, for three ways of scaling the loss."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.leaf_chart import Series
from engine.figures.units import format_significant
from engine.gradients.results import Accumulated, Distance
from engine.gradients.spec import AccumulationSpec
from pages.backward.gradient_values_chart import draw_leaf_chart
from pages.backward.gradient_values_two_runs import draw_distance
from pages.backward.gradient_values_words import draw_run_error, draw_table
from pages.shared.key_numbers import KeyNumber, draw_key_numbers

TABS = ("Chosen leaf", "Every leaf", "How to read this")
HOW_TO_READ = (
    "`.grad` adds up over `backward()` calls. With a **sum** loss the parts of a batch add up to the whole, so nothing "
    "needs scaling. With a **mean** loss every micro-batch already divided by its own size: adding k of them gives k "
    "times the gradient, and dividing each loss by k repairs it only while all are equally large. A last, smaller one "
    "needs its share n / N instead. What is left then is rounding: choose dtype float64 and it falls to about 1e-16."
)


def factor(row: Distance) -> float | None:
    """Length of the accumulated gradient over that of the large batch's."""
    return row.norm_b / row.norm_a if not row.missing and row.norm_a else None


def accumulation_series(outcome: Accumulated) -> tuple[Series, ...]:
    """Relative difference to the large batch, by way of scaling."""
    series = []
    for number, (way, rows) in enumerate(zip(outcome.ways, outcome.rows, strict=False)):
        words = tuple(row.missing or _factor_words(row) for row in rows)
        values = tuple(None if row.missing else row.relative for row in rows)
        series.append(Series(f"{way} (right here)" if way == outcome.right_way else way, number, values, words))
    return tuple(series)


def _factor_words(row: Distance) -> str:
    times = factor(row)
    return "" if times is None else f"{format_significant(times, 4)} times as long as the large batch's"


def accumulation_numbers(outcome: Accumulated) -> tuple[KeyNumber, ...]:
    """Length against the large batch by way, and what is left of the right one."""
    numbers = [
        KeyNumber(way, factor(whole), "", f"‖accumulated‖ / ‖large batch‖ over all leaves, with {way}")
        for way, whole in zip(outcome.ways, outcome.whole, strict=False)
    ]
    right = dict(zip(outcome.ways, outcome.whole, strict=False)).get(outcome.right_way)
    left = right.relative if right is not None else None
    source = f"`(accumulated - large).norm() / large.norm()` with {outcome.right_way}"
    return (*numbers, KeyNumber("Rest of the right", left, "", source))


@st.fragment
def draw_accumulation(spec: AccumulationSpec, outcome: Accumulated, before: Accumulated | None) -> None:
    """Sentence, chart, key numbers, the chosen leaf with the simplest way, the table."""
    draw_run_error(outcome.error)
    sizes = " + ".join(map(str, outcome.sizes)) if len(outcome.sizes) <= 12 else f"{len(outcome.sizes)} parts"
    st.caption(
        f"{spec.model.batch} examples = {sizes}; the loss takes the **{outcome.reduction}** over examples, so the "
        f"right scaling is **{outcome.right_way}**."
    )
    for note in outcome.notes:
        st.warning(f"{note} The two differ even in exact arithmetic.", icon=":material/casino:")
    if not outcome.rows or not outcome.rows[0]:
        return
    names = [row.name for row in outcome.rows[0]]
    series = accumulation_series(outcome)
    number = draw_leaf_chart(names, series, y_title="relative difference to the large batch")
    draw_key_numbers(accumulation_numbers(outcome), accumulation_numbers(before) if before else None)
    chosen, every, explanation = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if chosen.open:
        with chosen:
            st.caption(f"A is the large batch, B the micro-batches with {outcome.ways[0]}.")
            draw_distance(outcome.rows[0][number])
    if every.open:
        with every:
            table = accumulation_table(outcome)
            draw_table(table)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)


def accumulation_table(outcome: Accumulated) -> pd.DataFrame:
    """One row per leaf: length, direction and difference by way."""
    first = outcome.rows[0] if outcome.rows else ()
    columns: dict[str, list[object]] = {"leaf": [row.name for row in first]}
    for way, rows in zip(outcome.ways, outcome.rows, strict=False):
        columns[f"{way}: times as long"] = [factor(row) for row in rows]
        columns[f"{way}: relative"] = [None if row.missing else row.relative for row in rows]
        columns[f"{way}: cosine"] = [row.cosine for row in rows]
    return pd.DataFrame(columns | {"missing": [row.missing for row in first]})
