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
    step_rows,
)
from engine.grad_scaler.results import Scaled
from engine.grad_scaler.spec import GradScalerSpec
from pages.memory.gradient_scaling_picture import CHART
from pages.shared.choice import draw_choice
from pages.shared.theme import shown_theme

TABS = ("Gradients and formats", "found_inf", "Right against wrong", "Every step", "How to read this")
SOURCE = "scaler.source"
SHARE_WIDTHS = {"dtype": 118, "scale": 70}
STEP_WIDTHS = {"step": 42, "event": 68, "found_inf": 68, "skipped": 66, "parameters": 84}
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
    st.dataframe(table, hide_index=True, width="stretch", column_config=widths)
    steps = ", ".join(map(str, spread.steps))
    st.caption(
        f"{spread.elements} gradients of float32 before step {steps}, left out are {spread.zeros} that are exactly 0 "
        f"and {spread.non_finite} that are nan or inf. "
        "Each other one is multiplied, converted with `.to(dtype)` and counted by what it became."
    )
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
        "kernel sets found_inf for this gradient alone; · is finite, None is no gradient."
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


def steps_table(found: Scaled) -> pd.DataFrame:
    """One row per step."""
    return pd.DataFrame(step_rows(found.run), columns=list(STEP_COLUMNS))


def _step_columns() -> dict[str, Any]:
    """Narrow, and numbers to four digits: the files hold every digit."""
    columns = {name: st.column_config.Column(width=width) for name, width in STEP_WIDTHS.items()}
    columns["growth tracker"] = st.column_config.Column("tracker", width=56, help="growth tracker")
    for name in ("scale before", "scale after"):
        columns[name] = st.column_config.NumberColumn(width=84, format="%.7g")
    for name in ("loss", "first weight"):
        columns[name] = st.column_config.NumberColumn(width=66, format="%.4g")
    for kind in ("scaled", "unscaled", "clipped", "applied"):
        columns[f"norm {kind}"] = st.column_config.NumberColumn(
            kind, width=66, format="%.4g", help="Norm of all gradients"
        )
    return columns


def _draw_steps(spec: GradScalerSpec, found: Scaled) -> None:
    st.dataframe(steps_table(found), hide_index=True, width="stretch", column_config=_step_columns())


def _draw_explanation(spec: GradScalerSpec, found: Scaled) -> None:
    st.markdown(HOW_TO_READ)
    on_cuda = (
        "is enabled on this machine"
        if found.cuda_enabled
        else "reports `is_enabled() == False` on this machine, which "
        "has no CUDA: it warns, scales by 1 and skips nothing"
    )
    st.caption(f'Here the scaler is `torch.amp.GradScaler("cpu")`. `torch.amp.GradScaler("cuda")` {on_cuda}.')
