"""torch.compile of one side or both: the cold start apart, and after how many calls it is paid back."""

from __future__ import annotations

import streamlit as st

from engine.figures.timing_chart import ratio_chart
from engine.figures.timing_words import agreement_words, band_words, failure_words, headline
from engine.figures.units import format_count, format_time
from engine.timing.results import Timing
from engine.timing.spec import CompiledTimingSpec, TimingSpec
from pages.shared.asked import asked
from pages.shared.fields import common_arguments
from pages.shared.jobs import compute
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

CHOICES = ("A against A compiled", "B against B compiled", "A against B compiled", "both compiled")
WAITING_HEIGHT = 300


def draw_compiled(spec: TimingSpec) -> None:
    """Which sides to compile, a button, since the first call takes long, and what came of it."""
    chosen = st.selectbox("compile", CHOICES, width=260, **common_arguments("timing.compile", "dynamic=False"))
    wanted = compiled_spec(spec, str(chosen))
    words = "Starts a C++ compiler in the worker: the first call takes 10 to 60 s, in no ratio; then the same rounds."
    if asked("timing.compiled", wanted, "Compile and measure", words):
        _draw_outcome(compute(wanted, slot="timing.compiled", height=WAITING_HEIGHT))


def compiled_spec(spec: TimingSpec, choice: str) -> CompiledTimingSpec:
    """The comparison that a choice stands for."""
    a = spec.b if choice == CHOICES[1] else spec.a
    b = spec.a if choice == CHOICES[0] else spec.b
    return CompiledTimingSpec(
        a=a,
        b=b,
        compiled="both" if choice == CHOICES[3] else "b",
        rounds=spec.rounds,
        warm_up_rounds=spec.warm_up_rounds,
        seed=spec.seed,
    )


def _draw_outcome(timing: Timing) -> None:
    for name, side in (("A", timing.a), ("B", timing.b)):
        if side.refused:
            draw_said(failure_words(side, name), side.refused)
        elif side.unavailable:
            st.warning(failure_words(side, name))
    comparison = timing.comparison
    if comparison is None:
        return
    st.markdown(f"A: {timing.a.title}  \nB: {timing.b.title}")
    st.markdown(f"**{headline(comparison)}** ({band_words(comparison)}). {agreement_words(timing.agreement)}.")
    st.plotly_chart(ratio_chart(comparison, shown_theme(), order=comparison.names), key="timing.compiled.chart")
    st.markdown(cold_start_words(timing))


def cold_start_words(timing: Timing) -> str:
    """What compiling took, and how many calls it takes to win that back."""
    cold = [(name, side.first_call_s) for name, side in (("A", timing.a), ("B", timing.b)) if side.first_call_s]
    words = "First call: " + ", ".join(f"{name} {format_time(seconds)}" for name, seconds in cold) + "."
    comparison = timing.comparison
    if comparison is None or comparison.winner != "B" or timing.b.first_call_s is None:
        return words
    saved = comparison.median_s[0] - comparison.median_s[1]
    calls = round((timing.b.first_call_s - (timing.a.first_call_s or 0.0)) / saved)
    return f"{words} B wins the difference back after about {format_count(max(calls, 0))} calls (estimated)."
