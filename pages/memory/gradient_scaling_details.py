"""Below the picture: gradients by power of two, flags per parameter, right against wrong, every step."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from engine.figures.grad_scaler_spread import spread_chart, sweep_chart
from engine.figures.grad_scaler_words import (
    CLIP_COLUMNS,
    SHARE_COLUMNS,
    STEP_COLUMNS,
    best_words,
    clip_rows,
    found_inf_rows,
    share_rows,
    spread_named,
    spread_words,
    step_rows,
)
from engine.grad_scaler.results import Scaled
from engine.grad_scaler.spec import GradScalerSpec
from pages.memory.gradient_scaling_picture import CHART
from pages.shared.choice import draw_choice
from pages.shared.number_columns import number_columns
from pages.shared.theme import shown_theme

TABS = ("Gradients and formats", "found_inf", "Right against wrong", "Every step", "How to read this")
SOURCE = "scaler.source"
SHARE_WIDTHS = {"dtype": 118, "scale": 70}
STEP_WIDTHS = {"step": 42, "event": 66, "found_inf": 68, "skipped": 64, "parameters": 84, "growth tracker": 58}
STEP_LABELS = {
    "growth tracker": "tracker",
    "scale before": "scale",
    "scale after": "next scale",
    "first weight": "weight",
}
STEP_HELP = {
    "growth tracker": "growth tracker: good steps in a row",
    "scale before": "scale before the step",
    "scale after": "scale after update()",
    "parameters": "whether any bit of them changed",
    "first weight": "first element of the first parameter, after the step",
}
UNUSED = "norm clipped"
"""Empty where nothing is clipped."""
HOW_TO_READ = (
    "`scaler.scale(loss)` multiplies the loss, so every gradient of the backward is larger by the same factor and "
    "fewer fall below the smallest float16. `scaler.step(optimizer)` divides them again (`unscale_`), looks for inf "
    "and nan on the way, and does not call `optimizer.step()` when it finds one. `scaler.update()` then multiplies the "
    "scale by backoff_factor; after growth_interval steps without one, by growth_factor. The scale is not kept above "
    "1. What changes gradients between backward and step, such as clipping, has to come after `unscale_`, or it sees "
    "gradients that are as many times too large as the scale. One scaler serves several optimizers: each is skipped "
    "by itself, the scale backs off once for all."
)


def draw_details(spec: GradScalerSpec, found: Scaled) -> None:
    """One tab at a time."""
    tabs = st.tabs(TABS, key="scaler.details", on_change="rerun")
    shown = (_draw_spread, _draw_found_inf, _draw_comparison, _draw_steps, _draw_explanation)
    for tab, draw in zip(tabs, shown, strict=True):
        if tab.open:
            with tab:
                draw(spec, found)


def _draw_spread(spec: GradScalerSpec, found: Scaled) -> None:
    sources = tuple(spread.source for spread in found.spreads)
    if not sources:
        st.info("No gradient to convert: none was there in float32.", icon=":material/block:")
        return
    source = draw_choice("Gradients of", sources, SOURCE) if len(sources) > 1 else sources[0]
    spread = spread_named(found, source) or found.spreads[0]
    st.plotly_chart(
        spread_chart(spread, found.ranges, spec.init_scale, shown_theme()), key="scaler.spread", config=CHART
    )
    table = pd.DataFrame(share_rows(spread), columns=list(SHARE_COLUMNS))
    widths = {name: st.column_config.Column(width=SHARE_WIDTHS.get(name, 110)) for name in SHARE_COLUMNS}
    st.dataframe(table, hide_index=True, width="stretch", height="content", column_config=widths)
    st.caption(spread_words(spread))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.plotly_chart(sweep_chart(spread, spec.init_scale, shown_theme()), key="scaler.sweep", config=CHART)
    with right:
        st.markdown("**Which power of two loses least?**")
        st.markdown("\n".join(f"- {line}" for line in best_words(spread)))


def _draw_found_inf(spec: GradScalerSpec, found: Scaled) -> None:
    columns, rows = found_inf_rows(found.run)
    st.dataframe(pd.DataFrame(rows, columns=list(columns)), hide_index=True, width="stretch")
    st.caption(
        "Entries of each parameter's gradient that are inf or nan after backward, per step, where the scaler's own "
        "kernel sets found_inf for this gradient alone; · is finite, *no grad* is a parameter whose `.grad` is None."
    )


def _draw_comparison(spec: GradScalerSpec, found: Scaled) -> None:
    if found.beside is None:
        st.info(
            "This loop is written as it should be. Choose a mistake, or clip, and the other way stands beside it.",
            icon=":material/check:",
        )
        return
    if found.beside.error is not None:
        st.caption(f"{found.beside.name}: {found.beside.error.message}")
    names = [f"this: {name}" for name in CLIP_COLUMNS] + [f"{found.beside.name}: {name}" for name in CLIP_COLUMNS]
    st.dataframe(pd.DataFrame(clip_rows(found), columns=["step", *names]), hide_index=True, width="stretch")
    st.caption(
        f"*norm applied* is what the optimizer stepped with, read in its step pre-hook; max_norm is {spec.max_norm:g}."
    )


def steps_table(found: Scaled) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row per step, and how its columns look: narrow, five digits; the files hold every digit."""
    # Of objects, or pandas would make None and nan the same.
    table = pd.DataFrame(step_rows(found.run), columns=list(STEP_COLUMNS), dtype=object)
    if all(step.clipped_norm is None for step in found.run.steps):
        table = table.drop(columns=UNUSED)
    looks = {name: _step_look(name) for name in table.columns}
    shown, configured = number_columns(table, digits=5, looks=looks)
    return shown, {name: _column(look) for name, look in looks.items()} | configured


def _step_look(name: str) -> dict[str, Any]:
    look: dict[str, Any] = {"width": STEP_WIDTHS.get(name, 66), "help": STEP_HELP.get(name)}
    if name.startswith("norm "):
        return look | {"label": name.removeprefix("norm "), "help": "Norm of all gradients"}
    if name.startswith("scale "):
        look |= {"width": 78, "format": "%.7g"}
    return look | {"label": STEP_LABELS.get(name, name)}


def _column(look: dict[str, Any]) -> Any:
    return st.column_config.Column(**{key: value for key, value in look.items() if key != "format"})


def _draw_steps(spec: GradScalerSpec, found: Scaled) -> None:
    table, columns = steps_table(found)
    st.dataframe(table, hide_index=True, width="stretch", column_config=columns)


def _draw_explanation(spec: GradScalerSpec, found: Scaled) -> None:
    st.markdown(HOW_TO_READ)
    on_cuda = (
        "is enabled on this machine"
        if found.cuda_enabled
        else "reports `is_enabled() == False` on this machine, which "
        "has no CUDA: it warns, scales by 1 and skips nothing (a question above is about it)"
    )
    st.caption(f'Here the scaler is `torch.amp.GradScaler("{spec.scaler_device}")`. The one for "cuda" {on_cuda}.')
