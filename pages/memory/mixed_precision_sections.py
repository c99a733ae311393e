"""The sections below the map: operations, casts, saved copies, errors, lists of the device."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from engine.figures.leaf_chart import Series, leaf_chart
from engine.figures.mixed_precision_words import MANY_WORDS, apart_words, layer_name, worst, worst_own
from engine.figures.units import format_bytes, format_count
from engine.mixed_precision.results import LayerError
from engine.mixed_precision.spec import AutocastLists, AutocastMap, AutocastSpec
from pages.memory.mixed_precision_controls import lists_spec
from pages.memory.mixed_precision_picture import draw_chosen
from pages.memory.mixed_precision_tables import (
    apart_table,
    called_table,
    casts_table,
    held_table,
    kept_table,
    layers_table,
    listed_table,
    operations_table,
    trials_table,
    weights_table,
)
from pages.shared.jobs import compute
from pages.shared.number_columns import number_columns
from pages.shared.theme import shown_theme

ROW_HEIGHT = 35
QUIET = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
HOW_TO_READ = (
    "Autocast works on **calls**: before the operators it has a kernel for it casts their inputs, then calls the same "
    "operator again with itself switched off. What it does not know runs in whatever comes in, so bfloat16 flows on "
    "through `relu` or `add` until something asks for float32. Casts are told from the model's own `.to()` by the "
    "call they stand in. **New bytes** leave out the storages of weights, buffers and inputs, which live anyway: "
    "a float32 model saves its weights for free, autocast saves copies of them. Backward runs outside of autocast, in "
    "the dtypes the forward recorded; each cast of a weight is undone there by a cast of its gradient to float32. "
    "*Own error* gives a module the plain run's input and runs it alone under autocast; the other curve is the whole "
    "run, with everything that went wrong before it."
)


def draw_table(table: pd.DataFrame, key: str, most: int = 420) -> None:
    """A table of rows, at most `most` pixels high; measured numbers with four significant digits."""
    shown, columns = number_columns(table)
    st.dataframe(
        shown,
        key=key,
        hide_index=True,
        width="stretch",
        height="content" if ROW_HEIGHT * (len(table) + 1) <= most else most,
        column_config=columns,
    )


def draw_operations(spec: AutocastSpec, found: AutocastMap) -> None:
    """The clicked step, then every operation."""
    draw_chosen(spec)
    extra = len(found.operations) - found.plain_operations
    st.caption(
        f"{format_count(len(found.operations))} operations reached a kernel under autocast, "
        f"{format_count(found.plain_operations)} in the plain run ({extra:+d})."
    )
    draw_table(operations_table(found), "amp.table.operations", 520)


def draw_casts(spec: AutocastSpec, found: AutocastMap) -> None:
    """Weights with the cache on and off, then every cast."""
    on = sum(row.cache_on for row in found.weights)
    off = sum(row.cache_off for row in found.weights)
    held = found.held if spec.cache_enabled else found.held_other_cache
    without = found.held_other_cache if spec.cache_enabled else found.held
    st.markdown(
        f"Casts of weights in forward: **{on}** with `cache_enabled=True`, **{off}** without. "
        f"Held for backward: {_bytes(held.saved_bytes)} with the cache, {_bytes(without.saved_bytes)} without. "
        "The cache keeps copies of float32 leaves that require a gradient, until the outermost `autocast` block ends; "
        "under `inference_mode`, and for frozen weights, every call casts again."
    )
    if found.weights:
        draw_table(weights_table(found), "amp.table.weights", 320)
    else:
        st.info("No weight was cast.", icon=":material/do_not_disturb_on:")
    draw_table(casts_table(found), "amp.table.casts")


def _bytes(count: int | None) -> str:
    return "not known" if count is None else format_bytes(count)


def draw_saved(spec: AutocastSpec, found: AutocastMap) -> None:
    """Bytes of the three runs, then what is alive twice."""
    draw_table(held_table(found), "amp.table.held")
    st.caption("A dash: not measured. The run with the cache the other way is one forward with its loss.")
    total = sum(row.copy_bytes for row in found.kept_twice)
    if not found.kept_twice:
        st.info("Nothing is kept twice: no copy that autocast made is saved.", icon=":material/do_not_disturb_on:")
        return
    st.markdown(
        f"{len(found.kept_twice)} copies, **{format_bytes(total)}**, are saved for backward while the tensor they were "
        "cast from lives on as well."
    )
    draw_table(kept_table(found), "amp.table.kept")


def draw_errors(spec: AutocastSpec, found: AutocastMap) -> None:
    """Modules, then gradients, each as a chart and a table."""
    told = [row for row in found.layers if row.own is not None or row.all_before.relative is not None]
    leaf = [row for row in told if row.own is not None] or told
    loses, gradient = worst_own(found.layers), worst(found.gradients)
    if loses is not None and loses.own is not None:
        st.markdown(f"`{layer_name(loses)}` ({loses.type}) loses most by itself: {apart_words(loses.own)}.")
    if leaf:
        series = (
            Series("own error", 1, tuple(_own(row) for row in leaf)),
            Series("with all before it", 0, tuple(row.all_before.relative for row in leaf)),
        )
        _draw_chart([layer_name(row) for row in leaf], series, "amp.chart.layers", "‖b − a‖ / ‖a‖ of its output")
        draw_table(layers_table(found), "amp.table.layers", 260)
    if gradient is not None:
        st.markdown(
            f"Of all gradients as one vector: {apart_words(found.all_gradients)}. Furthest off: `{gradient.name}`, "
            f"{apart_words(gradient)}."
        )
        both = (
            Series("relative", "gradient", tuple(row.relative for row in found.gradients)),
            Series("1 − cosine", 2, tuple(row.turned for row in found.gradients)),
        )
        _draw_chart([row.name for row in found.gradients], both, "amp.chart.gradients", "gradient against plain")
        draw_table(apart_table(found.gradients, "gradient of"), "amp.table.gradients", 260)
    else:
        st.info("There are no gradients to compare.", icon=":material/do_not_disturb_on:")
    draw_table(apart_table(found.outputs, "output"), "amp.table.outputs", 160)


def _own(row: LayerError) -> float | None:
    return None if row.own is None else row.own.relative


def _draw_chart(names: list[str], series: tuple[Series, ...], key: str, title: str) -> None:
    st.plotly_chart(leaf_chart(names, series, shown_theme(), y_title=title, height=320), key=key, config=QUIET)


def draw_lists(spec: AutocastSpec, found: AutocastMap) -> None:
    """The operators called here, every operator autocast knows, and lines that it changes."""
    st.markdown("**Called by this model**: what autocast does to each operator, and what was measured.")
    draw_table(called_table(found), "amp.table.called", 320)
    lists: AutocastLists = compute(lists_spec(spec), slot="amp.lists", height=320)
    counted = {policy: sum(row.policy == policy for row in lists.operators) for policy in MANY_WORDS}
    told = "; ".join(f"**{count}** {MANY_WORDS[policy]}" for policy, count in counted.items() if count)
    st.markdown(
        f"**Known on `{spec.model.device}`**: {len(lists.operators)} operators have an autocast kernel in the "
        f"dispatcher of this PyTorch. Tried with small tensors: {told}."
    )
    draw_table(listed_table(lists), "amp.table.listed", 320)
    raising = sum(trial.raises for trial in lists.trials)
    st.markdown(
        f"**Lines that mix dtypes**: {raising} of {len(lists.trials)} raise only under autocast, in PyTorch's words."
    )
    draw_table(trials_table(lists), "amp.table.trials", 460)


DRAW: dict[str, Any] = {
    "Operations": draw_operations,
    "Casts and cache": draw_casts,
    "Saved copies": draw_saved,
    "Errors": draw_errors,
    "Lists": draw_lists,
}
