"""Contiguous against channels_last by the clock, measured when asked."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.timing_chart import ratio_chart, verdict
from engine.figures.units import format_shape, format_significant, format_time
from engine.memory_format.spec import ConvolutionTiming, FormatTiming, FormatTimingSpec
from engine.models.spec import ModelSpec
from engine.timing.spec import Comparison
from pages.shared.asked import asked
from pages.shared.jobs import compute
from pages.shared.theme import shown_theme

MEASURED = "formats.measured"
WAITING_HEIGHT = 300


def draw_timing(model: ModelSpec) -> None:
    """A button, since measuring takes seconds; afterwards the verdicts, the charts and every convolution."""
    spec = FormatTimingSpec(model=model)
    words = (
        f"Runs the model in both formats in interleaved rounds, and its convolutions alone: at most about "
        f"{spec.budget_s:g} s."
    )
    if asked(MEASURED, spec, "Measure", words):
        _draw_result(compute(spec, slot="formats.timing", height=WAITING_HEIGHT))


def _draw_result(timing: FormatTiming) -> None:
    for title, comparison in (("Forward", timing.forward), ("Forward and backward", timing.forward_and_backward)):
        if comparison is not None:
            _draw_comparison(title, comparison)
    for name, reason in timing.not_timed:
        st.caption(f"Not timed: {name}. {reason}")
    if timing.convolutions:
        st.markdown("**Every distinct convolution alone**, forward, largest first")
        st.dataframe(convolution_table(timing.convolutions), hide_index=True, width="stretch")


def _draw_comparison(title: str, comparison: Comparison) -> None:
    theme = shown_theme()
    times = ", ".join(f"{name} {format_time(comparison.seconds_of(name))}" for name in comparison.names)
    st.markdown(f"**{title}**: {comparison.names[1]} {verdict(comparison.ratios[0])}  :gray[{times}]")
    st.plotly_chart(ratio_chart(comparison, theme), key=f"formats.{title}", config={"displayModeBar": False})
    for note in comparison.notes:
        st.caption(note)


def convolution_table(rows: tuple[ConvolutionTiming, ...]) -> pd.DataFrame:
    """One row per distinct convolution: what it is, both times, the verdict or why there is none."""
    return pd.DataFrame(
        {
            "first in": [row.module for row in rows],
            "verdict": [verdict(row.comparison.ratios[0]) if row.comparison else row.not_timed for row in rows],
            "ratio (95 % band)": [_band(row.comparison) for row in rows],
            "contiguous": [_seconds(row, "contiguous") for row in rows],
            "channels_last": [_seconds(row, "channels_last") for row in rows],
            "runs": [row.times for row in rows],
            "input": [format_shape(row.input_shape) for row in rows],
            "weight": [format_shape(row.weight_shape) for row in rows],
            "stride": [str(row.stride) for row in rows],
            "groups": [row.groups for row in rows],
        }
    )


def _seconds(row: ConvolutionTiming, name: str) -> str:
    return format_time(row.comparison.seconds_of(name)) if row.comparison else ""


def _band(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    ratio = comparison.ratios[0]
    low, high = format_significant(ratio.low), format_significant(ratio.high)
    return f"{format_significant(ratio.ratio)} ({low} to {high})"
