"""The section on zero_grad: what the next step does when gradients are None, zeros, or still there."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.leaf_chart import Series
from engine.figures.units import format_significant
from engine.gradients.results import Step, Stepped, Way
from engine.gradients.spec import ZeroGradSpec
from pages.backward.gradient_values_chart import draw_leaf_chart
from pages.backward.gradient_values_words import draw_run_error, draw_table
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pytorch_words import draw_said

TABS = ("Chosen leaf", "Every leaf", "How to read this")
HOW_TO_READ = (
    "`zero_grad()` sets `.grad` to None, `set_to_none=False` fills it with zeros and keeps its memory. An optimizer "
    "**skips** a parameter whose `.grad` is None. Zeros are a gradient: momentum and Adam's averages go on moving the "
    "weight, weight decay shrinks it, and its step counter runs. That matters for parameters that this forward did "
    "not use. Not clearing at all leaves the old gradient: the next backward adds to it."
)


def step_series(outcome: Stepped) -> tuple[Series, ...]:
    """How far the second step moved every leaf, by way."""
    return tuple(
        Series(way.name, number, tuple(row.moved for row in way.rows), tuple(_words(row) for row in way.rows))
        for number, way in enumerate(outcome.ways)
    )


def _words(row: Step) -> str:
    counted = "" if row.steps_counted is None else f", step counter {row.steps_counted}"
    return f".grad was {row.grad}{counted}"


def step_numbers(outcome: Stepped) -> tuple[KeyNumber, ...]:
    """How far each way moved all leaves, and the bytes of .grad that zeros keep."""
    zeros = next((way.grad_bytes for way in outcome.ways if way.name == "set_to_none=False"), None)
    moved = [
        KeyNumber(_short(way), way.moved, "", f"‖Δ parameters‖ of the second step, {way.name}") for way in outcome.ways
    ]
    return (
        KeyNumber("First step", outcome.first_moved, "", "‖Δ parameters‖ of the first step, the same for all"),
        *moved,
        KeyNumber("Zeros keep", zeros, "bytes", "bytes of `.grad` after `zero_grad(set_to_none=False)`"),
    )


def _short(way: Way) -> str:
    return {"set_to_none=True": "then None", "set_to_none=False": "then zeros"}.get(way.name, "not cleared")


@st.fragment
def draw_zero_grad(spec: ZeroGradSpec, outcome: Stepped, before: Stepped | None) -> None:
    """Chart, key numbers, the chosen leaf by way, the table."""
    draw_run_error(outcome.error)
    for way in outcome.ways:
        if way.error is not None:
            draw_said(f"PyTorch refuses the second step with {way.name}", way.error)
    if not outcome.ways or not outcome.ways[0].rows:
        return
    between = "backward again" if spec.backward_again else "no backward"
    st.caption(f"backward, step, `zero_grad`, {between}, step: drawn is how far the **second** step moved each leaf.")
    names = [row.name for row in outcome.ways[0].rows]
    number = draw_leaf_chart(names, step_series(outcome), y_title="‖Δ parameter‖ of the second step")
    draw_key_numbers(step_numbers(outcome), step_numbers(before) if before else None)
    chosen, every, explanation = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if chosen.open:
        with chosen:
            st.dataframe(_leaf_table(outcome, number), hide_index=True, width="stretch")
    if every.open:
        with every:
            table = step_table(outcome)
            draw_table(table)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)


def _leaf_table(outcome: Stepped, number: int) -> pd.DataFrame:
    rows = [way.rows[number] for way in outcome.ways]
    return pd.DataFrame(
        {
            "zero_grad": [way.name for way in outcome.ways],
            ".grad at the second step": [row.grad for row in rows],
            "‖grad‖": [format_significant(row.grad_norm) for row in rows],
            "moved by": [format_significant(row.moved) for row in rows],
            'state["step"]': ["none kept" if row.steps_counted is None else str(row.steps_counted) for row in rows],
        }
    )


def step_table(outcome: Stepped) -> pd.DataFrame:
    """One row per leaf: its gradient and movement by way."""
    columns: dict[str, list[object]] = {"leaf": [row.name for row in outcome.ways[0].rows] if outcome.ways else []}
    for way in outcome.ways:
        columns[f"{way.name}: .grad"] = [row.grad for row in way.rows]
        columns[f"{way.name}: moved"] = [row.moved for row in way.rows]
        columns[f"{way.name}: step"] = [row.steps_counted for row in way.rows]
    return pd.DataFrame(columns)
