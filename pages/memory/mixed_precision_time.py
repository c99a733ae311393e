"""The section on time: steps plain and under autocast, and their matrix products and casts alone."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.timing_chart import ratio_chart, verdict
from engine.figures.timing_samples import samples_chart
from engine.figures.units import format_time
from engine.mixed_precision.spec import AutocastMap, AutocastSpec, AutocastTiming, AutocastTimingSpec
from engine.script import script_for
from engine.timing.comparison import Comparison
from pages.memory.mixed_precision_controls import ROUNDS
from pages.shared.fields import draw_field
from pages.shared.jobs import run_again
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

QUIET = {"displayModeBar": False}
SLOT = "amp.time"


def draw_rounds() -> None:
    """How many rounds, and the button that measures afresh; drawn before the measurement is read."""
    with st.container(width=200):
        draw_field(AutocastTimingSpec, "rounds", ROUNDS)


def draw_time(spec: AutocastSpec, found: AutocastMap, asked: AutocastTimingSpec, timing: AutocastTiming) -> None:
    """Verdicts, samples, parts, and what decides them on this processor."""
    if timing.error is not None:
        draw_said("PyTorch refuses a step of this model, so there is no time of it", timing.error)
    if timing.steps is not None:
        for ratio in timing.steps.ratios:
            st.markdown(f"**{ratio.name}**: {verdict(ratio)}, in {timing.steps.rounds} paired rounds.")
        st.plotly_chart(samples_chart(timing.steps, shown_theme()), key="amp.time.samples", config=QUIET)
        st.plotly_chart(ratio_chart(timing.steps, shown_theme()), key="amp.time.ratios", config=QUIET)
        extra = len(found.operations) - found.plain_operations
        st.caption(
            f"A step under autocast dispatches {extra:+d} operations. Small models pay for these in overhead, "
            "large ones gain where the processor multiplies 16-bit numbers faster than 32-bit ones."
        )
    if timing.parts is not None:
        _draw_parts(timing, timing.parts)
    _draw_support(timing)
    st.button("Measure again", key="amp.time.again", icon=":material/refresh:", on_click=run_again, args=(asked, SLOT))
    with st.expander("The measurement in plain PyTorch", key="amp.time.code", on_change="rerun") as code:
        if code.open:
            st.code(script_for(asked), language="python", height=320)


def _draw_parts(timing: AutocastTiming, parts: Comparison) -> None:
    medians = ", ".join(f"{name} {format_time(one)}" for name, one in zip(parts.names, parts.median_s, strict=True))
    st.markdown(
        f"Of one step alone, run again one after the other: {medians} ({timing.products} matrix products, "
        f"{timing.casts} casts)."
    )
    st.plotly_chart(samples_chart(parts, shown_theme()), key="amp.time.parts", config=QUIET)


def _draw_support(timing: AutocastTiming) -> None:
    for one in timing.support:
        if not one.works:
            st.warning(f"`{one.dtype}` does not work under autocast here", icon=":material/block:")
            st.code(one.reason, language=None, wrap_lines=True)
    table = pd.DataFrame(timing.processor, columns=["asked", "answer"])
    st.caption("What decides the speed of 16-bit products here, as PyTorch answers:")
    st.dataframe(table, key="amp.table.processor", hide_index=True, width="stretch")


def sample_rows(timing: AutocastTiming) -> tuple[tuple[str, ...], ...]:
    """(what, median) of every measured name, for the report."""
    rows: list[tuple[str, ...]] = []
    for found in (timing.steps, timing.parts):
        if found is not None:
            rows += [(name, format_time(one)) for name, one in zip(found.names, found.median_s, strict=True)]
    return tuple(rows)
