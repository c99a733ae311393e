"""The section on values: norms of every leaf in forward order, and value and gradient of the chosen one."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from engine.figures.heat_map import summary_heat_map
from engine.figures.histogram import summary_histogram
from engine.figures.leaf_chart import Series
from engine.figures.units import format_count, format_shape, format_significant
from engine.gradients.results import Differences, GradientRow, Gradients, trained
from engine.gradients.spec import DifferenceSpec, GradientsSpec
from engine.summary import TensorSummary
from pages.backward.gradient_values_chart import draw_leaf_chart
from pages.backward.gradient_values_controls import QUANTITIES, QUANTITY
from pages.backward.gradient_values_two_runs import draw_distance
from pages.backward.gradient_values_words import draw_run_error, draw_table
from pages.shared.jobs import compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

TABS = ("Chosen leaf", "Against A", "Every leaf", "How to read this")
PIN_FIRST = "Pin a run as A and change a toggle: cosine and difference to A's gradient are then told here."
HOW_TO_READ = (
    "Each leaf has two marks: the 2-norm of its values and of its `.grad`, in the order in which the modules ran. "
    "**gradient / weight** is ‖grad‖ / ‖weight‖; times lr it is the share of itself that one SGD step moves a weight. "
    "Values far apart between layers mean that one lr cannot suit them all. A leaf at *0 / none* has a gradient of "
    "zeros, or none at all, and its row says why.\n\n"
    "Pin this run as A and change one toggle: the table then gives, per leaf, the cosine and the difference to A's "
    "gradient, worked out in float64 in one job that runs both."
)


def value_series(spec: GradientsSpec, outcome: Gradients, quantity: str) -> tuple[tuple[Series, ...], str]:
    """What the chart draws, and the title of its axis."""
    rows = outcome.rows
    words = tuple(row.explanation if row.gradient is None else _gradient_words(row.gradient) for row in rows)
    norms = tuple(None if row.gradient is None else _shown_norm(row.gradient) for row in rows)
    if quantity == QUANTITIES[1]:
        return (Series("‖grad‖ / ‖weight‖", "gradient", tuple(row.ratio for row in rows), words),), "ratio of 2-norms"
    if quantity == QUANTITIES[2]:
        moved = tuple(None if norm is None else spec.learning_rate * norm for norm in norms)
        label = f"lr × ‖grad‖ with lr = {format_significant(spec.learning_rate)}"
        return (_weights(rows), Series(label, "gradient", moved, words)), "2-norm"
    return (_weights(rows), Series("‖grad‖", "gradient", norms, words)), "2-norm"


def _weights(rows: tuple[GradientRow, ...]) -> Series:
    return Series("‖weight‖ or ‖input‖", "parameter", tuple(_shown_norm(row.value) for row in rows))


def _shown_norm(summary: TensorSummary) -> float:
    return math.nan if summary.non_finite else summary.norm


def _gradient_words(summary: TensorSummary) -> str:
    zeros = f", {summary.zero_share:.0%} zeros" if summary.zeros else ""
    return f"{format_shape(summary.shape)} {summary.dtype}{zeros}"


def value_numbers(outcome: Gradients) -> tuple[KeyNumber, ...]:
    """Total norm, loss, leaves with a gradient, the steepest ratio, elements that are not finite."""
    over = "over parameters, or over inputs where there are none"
    given = [row.gradient for row in outcome.rows if row.gradient is not None]
    ratios = [row.ratio for row in trained(outcome.rows) if row.ratio is not None]
    return (
        KeyNumber("Total norm", outcome.total_norm, "", f"`get_total_norm` of `.grad.double()` {over}"),
        KeyNumber("Loss", outcome.loss, "", "`loss.item()`"),
        KeyNumber("With .grad", len(given), "count", "`tensor.grad` after `loss.backward()`"),
        KeyNumber("Largest ratio", max(ratios, default=None), "", f"`grad.norm() / weight.norm()` {over}"),
        KeyNumber("Not finite", sum(one.non_finite for one in given), "count", "`~torch.isfinite(tensor.grad)`"),
    )


@st.fragment
def draw_values(
    spec: GradientsSpec, outcome: Gradients, pinned: GradientsSpec | None, before: Gradients | None
) -> None:
    """Chart, key numbers, the chosen leaf, the table."""
    draw_run_error(outcome.error, outcome.stage)
    if not outcome.rows:
        return
    quantity = str(st.session_state.get(QUANTITY) or QUANTITIES[0])
    series, y_title = value_series(spec, outcome, quantity)
    first = next((n for n, row in enumerate(outcome.rows) if row.gradient is not None), 0)
    number = draw_leaf_chart([row.name for row in outcome.rows], series, y_title=y_title, preferred=first)
    draw_key_numbers(value_numbers(outcome), value_numbers(before) if before else None)
    chosen, against, every, explanation = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if chosen.open:
        with chosen:
            draw_leaf(outcome.rows[number])
    if against.open:
        with against:
            _draw_against(spec, outcome.rows[number], pinned if before else None)
    if every.open:
        with every:
            _draw_table(spec, outcome, pinned if before else None)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)
    for warning in outcome.warnings:
        st.code(warning, language=None, wrap_lines=True)


def draw_leaf(row: GradientRow) -> None:
    """Value and gradient of one leaf side by side: numbers, heat map, histogram."""
    sides: tuple[tuple[str, TensorSummary | None, str], ...] = (
        ("value", row.value, "parameter"),
        (".grad", row.gradient, "gradient"),
    )
    for column, (label, summary, colour) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            _draw_side(row, label, summary, colour)
    if row.aliases:
        names = ", ".join(f"`{name}`" for name in row.aliases)
        st.caption(f"One tensor under several names: also {names}. Its `.grad` is the sum over all its uses.")
    if row.stored is not None:
        merged = "coalesced" if row.is_coalesced else "not coalesced: rows used twice are stored twice"
        st.caption(f"Sparse gradient: {format_count(row.stored)} rows stored, {merged}; other rows count as zeros.")


def _draw_side(row: GradientRow, label: str, summary: TensorSummary | None, colour: str) -> None:
    if summary is None:
        st.info(f"`{row.name}.grad` is None: {row.explanation}", icon=":material/do_not_disturb_on:")
        return
    theme, title = shown_theme(), f"{row.name} {label}"
    plain = {"displayModeBar": False}
    st.plotly_chart(summary_heat_map(summary, theme, title=title), key=f"gradients.map.{label}", config=plain)
    st.caption(summary_words(summary))
    figure = summary_histogram(summary, theme, title=f"{title}: spread", colour=colour)
    st.plotly_chart(figure, key=f"gradients.spread.{label}", config=plain)


def summary_words(summary: TensorSummary) -> str:
    """Shape, dtype and moments in a line."""
    parts = [f"{format_shape(summary.shape)} `{summary.dtype}`", f"norm {format_significant(summary.norm)}"]
    parts.append(f"{format_significant(summary.minimum)} … {format_significant(summary.maximum)}")
    parts.append(f"mean {format_significant(summary.mean)}")
    parts += [f"{format_count(summary.zeros)} zeros ({summary.zero_share:.0%})"] if summary.zeros else []
    parts += [f"**{format_count(summary.non_finite)} not finite**"] if summary.non_finite else []
    return " · ".join(parts)


def _differences(spec: GradientsSpec, pinned: GradientsSpec | None) -> Differences | None:
    """A and this run in one job; None without an A, or where A has the same model."""
    if pinned is None or pinned.model == spec.model:
        return None
    asked = DifferenceSpec(model=pinned.model, against="given", other=spec.model)
    return compute_beside(asked, "A and this run together", slot="together")


def _draw_against(spec: GradientsSpec, row: GradientRow, pinned: GradientsSpec | None) -> None:
    differences = _differences(spec, pinned)
    found = next((one for one in differences.rows if one.name == row.name), None) if differences is not None else None
    if found is not None:
        draw_distance(found)
    elif differences is not None:
        st.info(f"`{row.name}` requires a gradient in neither run.", icon=":material/do_not_disturb_on:")
    else:
        st.caption(PIN_FIRST)


def _draw_table(spec: GradientsSpec, outcome: Gradients, pinned: GradientsSpec | None) -> None:
    differences = _differences(spec, pinned)
    draw_table(value_table(spec, outcome, differences))
    if differences is None:
        st.caption(PIN_FIRST)


def value_table(spec: GradientsSpec, outcome: Gradients, differences: Differences | None = None) -> pd.DataFrame:
    """One row per leaf; with `differences` how its gradient lies to A's."""
    rows = outcome.rows
    columns: dict[str, list[object]] = {
        "leaf": [row.name for row in rows],
        "shape": [format_shape(row.value.shape) for row in rows],
        "‖weight‖": [row.value.norm for row in rows],
        "‖grad‖": [row.gradient and row.gradient.norm for row in rows],
        "ratio": [row.ratio for row in rows],
        "lr × ‖grad‖": [row.gradient and spec.learning_rate * row.gradient.norm for row in rows],
        "min": [row.gradient and row.gradient.minimum for row in rows],
        "max": [row.gradient and row.gradient.maximum for row in rows],
        "zeros": [row.gradient and row.gradient.zeros for row in rows],
        "not finite": [row.gradient and row.gradient.non_finite for row in rows],
        "uses": [row.uses for row in rows],
        ".grad dtype": [row.gradient.dtype if row.gradient else "" for row in rows],
        "why": [row.explanation for row in rows],
    }
    if differences is not None:
        apart = {row.name: row for row in differences.rows}
        found = [apart.get(row.name) for row in rows]
        columns["cosine to A"] = [one and one.cosine for one in found]
        columns["relative to A"] = [one and one.relative for one in found]
        columns["max |Δ|"] = [one and one.max_abs for one in found]
    return pd.DataFrame(columns)
