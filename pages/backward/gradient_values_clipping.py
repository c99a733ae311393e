"""The section on clipping: norms before and after clip_grad_norm_ and clip_grad_value_."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.heat_map import shared_limits, summary_heat_map
from engine.figures.leaf_chart import Series
from engine.figures.units import format_significant
from engine.gradients.results import Clipped, ClippedRow
from engine.gradients.spec import ClippingSpec
from pages.backward.gradient_values_chart import draw_leaf_chart
from pages.backward.gradient_values_words import cosine_words, draw_run_error, draw_table
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

TABS = ("Chosen leaf", "Every leaf", "How to read this")
HOW_TO_READ = (
    "`clip_grad_norm_` takes all gradients as one vector and multiplies each by min(1, max_norm / (total + 1e-6)): "
    "shorter, same direction, and every leaf keeps its share. It returns the norm **before** clipping. "
    "`clip_grad_value_` cuts every element to ±clip_value: large elements lose, small ones stay, so the direction "
    "turns. A single nan or inf makes the total nan or inf: then norm clipping writes nan (or zeros) into **every** "
    "gradient, unless `error_if_nonfinite=True` raises first; value clipping cuts inf to the limit and leaves nan."
)


def clipping_series(outcome: Clipped) -> tuple[Series, ...]:
    """2-norms per leaf, before and after."""
    rows = outcome.rows
    shares = tuple(f"{row.clipped_share:.1%} of its elements exceed clip_value" for row in rows)
    return (
        Series("before", "gradient", tuple(row.norm for row in rows), shares),
        Series("clip_grad_norm_", 0, tuple(row.norm_after_norm for row in rows)),
        Series("clip_grad_value_", 1, tuple(row.norm_after_value for row in rows)),
    )


def clipping_numbers(outcome: Clipped) -> tuple[KeyNumber, ...]:
    """Total norms and the direction after each."""
    refused = "refused"
    return (
        KeyNumber("Total before", outcome.total_norm, "", "what `clip_grad_norm_` returned", refused),
        KeyNumber("After norm", outcome.total_after_norm, "", "`get_total_norm` after `clip_grad_norm_`", refused),
        KeyNumber("Factor", outcome.coefficient, "", "`min(1, max_norm / (total + 1e-6))`", refused),
        KeyNumber("After value", outcome.total_after_value, "", "`get_total_norm` after `clip_grad_value_`", refused),
        KeyNumber("Cosine, value", outcome.cosine_value, "", "gradients before against after `clip_grad_value_`", "—"),
        KeyNumber("foreach apart", outcome.foreach_difference, "", "largest difference of foreach=True and False", "—"),
    )


@st.fragment
def draw_clipping(spec: ClippingSpec, outcome: Clipped, before: Clipped | None) -> None:
    """Errors, chart, key numbers, the chosen leaf before and after, the table."""
    draw_run_error(outcome.error)
    for name, error in (("clip_grad_norm_", outcome.norm_error), ("clip_grad_value_", outcome.value_error)):
        if error is not None:
            draw_said(f"PyTorch refuses `{name}` here", error)
    if not outcome.rows:
        return
    names = [row.name for row in outcome.rows]
    lines = ((spec.max_norm, f"max_norm {format_significant(spec.max_norm)} (of all together)"),)
    number = draw_leaf_chart(names, clipping_series(outcome), y_title="‖grad‖", lines=lines if spec.max_norm else ())
    draw_key_numbers(clipping_numbers(outcome), clipping_numbers(before) if before else None)
    chosen, every, explanation = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if chosen.open:
        with chosen:
            _draw_leaf(outcome.rows[number])
    if every.open:
        with every:
            table = clipping_table(outcome)
            draw_table(table)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)


def _draw_leaf(row: ClippedRow) -> None:
    theme = shown_theme()
    sides = (
        ("before", row.before, None),
        ("clip_grad_norm_", row.after_norm, row.cosine_norm),
        ("clip_grad_value_", row.after_value, row.cosine_value),
    )
    limits = shared_limits([summary for _, summary, _ in sides if summary is not None])
    limits = shared_limits([summary for _, summary, _ in sides if summary is not None])
    for column, (label, summary, cosine) in zip(st.columns(3, gap="small"), sides, strict=True):
        with column:
            if summary is None:
                st.info(f"{label}: PyTorch refused", icon=":material/block:")
                continue
            figure = summary_heat_map(summary, theme, title=label, limits=limits)
            st.plotly_chart(figure, key=f"gradients.map.{label}", config={"displayModeBar": False})
            turned = "" if label == "before" else f", cosine to before {cosine_words(cosine)}"
            st.caption(f"norm {format_significant(summary.norm)}{turned}")


def clipping_table(outcome: Clipped) -> pd.DataFrame:
    """One row per leaf."""
    rows = outcome.rows
    return pd.DataFrame(
        {
            "leaf": [row.name for row in rows],
            "‖grad‖ before": [row.norm for row in rows],
            "after norm": [row.norm_after_norm for row in rows],
            "after value": [row.norm_after_value for row in rows],
            "cosine, norm": [row.cosine_norm for row in rows],
            "cosine, value": [row.cosine_value for row in rows],
            "elements cut": [f"{row.clipped_share:.1%}" for row in rows],
        }
    )
