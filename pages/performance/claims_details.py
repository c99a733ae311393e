"""The open claim: the picture of what was timed, key numbers, every check, every count, code and words."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.claims.outcome import Count, Measured
from engine.claims.spec import TimedClaim
from engine.claims.verdict import STATED, Verdict
from engine.figures.claims_bytes import bytes_chart
from engine.figures.claims_chart import claims_chart
from engine.figures.claims_words import answer_words, count_words, found_words, lesson_words, rule_words
from engine.figures.timing_chart import verdict as ratio_verdict
from engine.figures.units import format_time
from engine.script import script_for
from pages.performance.claims_queue import result_of
from pages.performance.claims_results import Known, machine_words
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

TABS = ("Checks", "Counts", "Times", "PyTorch's words", "Experiment and rule", "Code")
MOST_NUMBERS = 5
CHART = {"displayModeBar": False}


def draw_details(known: Known) -> None:
    """Nothing but the experiment while it was not run."""
    measured, verdict = known.measured, known.verdict
    if measured is None or verdict is None or measured.unavailable:
        _draw_experiment(known)
        return
    chart = claims_chart(verdict, shown_theme())
    if chart is not None:
        st.plotly_chart(chart, key=f"claims.chart.{known.claim.key}", config=CHART)
    bars = bytes_chart(measured, shown_theme())
    if bars is not None:
        st.plotly_chart(bars, key=f"claims.bytes.{known.claim.key}", config=CHART)
    pinned = pinned_spec(known.claim.kind)
    before = result_of(pinned) if pinned else None
    draw_key_numbers(count_numbers(measured), count_numbers(before) if before else None)
    tabs = st.tabs(TABS, key="claims.details", on_change="rerun")
    for tab, title in zip(tabs, TABS, strict=True):
        if tab.open:
            with tab:
                _draw_tab(title, known, measured, verdict)
    for note in measured.notes:
        st.caption(note)
    st.caption(f"Measured on {machine_words(known.spec)}.")
    with st.expander("What to notice", key=f"claims.notice.{known.claim.key}"):
        st.markdown(lesson_words(known.claim.lesson, measured))


def _draw_tab(title: str, known: Known, measured: Measured, verdict: Verdict) -> None:
    tables = {
        "Checks": lambda: check_table(verdict),
        "Counts": lambda: count_table(measured),
        "Times": lambda: time_table(measured),
    }
    if title in tables:
        st.table(tables[title](), hide_index=True, border="horizontal")
    elif title == "PyTorch's words":
        _draw_words(measured)
    elif title == "Code":
        st.code(script_for(known.spec), language="python", height=420)
    else:
        _draw_experiment(known)


def count_numbers(measured: Measured) -> tuple[KeyNumber, ...]:
    """The first counts as key numbers; shares in percent."""
    return tuple(_key_number(count) for count in measured.counts[:MOST_NUMBERS])


def _key_number(count: Count) -> KeyNumber:
    if count.unit == "share":
        return KeyNumber(f"{count.name} (in %)", 100 * count.value, "", "the counting code in the tab Code")
    whole = count.value == int(count.value)
    unit = "bytes" if count.unit == "bytes" else "count" if whole else ""
    return KeyNumber(count.name, count.value, unit, "the counting code in the tab Code")


def check_table(verdict: Verdict) -> pd.DataFrame:
    """One row per condition: what is claimed, what was measured, and whether it holds."""
    return pd.DataFrame(
        [(c.rule.clause, rule_words(c.rule), found_words(c), answer_words(c)) for c in verdict.checks],
        columns=["condition", "claimed", "measured", "verdict"],
    )


def count_table(measured: Measured) -> pd.DataFrame:
    """Every count, in its unit and exactly."""
    return pd.DataFrame(
        [(count.name, count_words(count), f"{count.value:.15g}") for count in measured.counts],
        columns=["counted", "value", "exactly"],
    )


def time_table(measured: Measured) -> pd.DataFrame:
    """Every name of every comparison; the first call stands apart and is in no ratio."""
    rows = []
    for timed in measured.timed:
        comparison = timed.comparison
        ratios = {ratio.name: ratio_verdict(ratio) for ratio in comparison.ratios}
        firsts = comparison.first_call_s or (0.0,) * len(comparison.names)
        for name, middle, first in zip(comparison.names, comparison.median_s, firsts, strict=True):
            clock = f"{comparison.clock}, {comparison.rounds} rounds"
            rows.append(
                (timed.condition, name, format_time(middle), ratios.get(name, "baseline"), format_time(first), clock)
            )
    return pd.DataFrame(rows, columns=["condition", "name", "median per call", "verdict", "first call", "clock"])


def _draw_words(measured: Measured) -> None:
    if not measured.refusals:
        st.caption("This claim has no call that PyTorch could refuse.")
    for refusal in measured.refusals:
        if refusal.said is None:
            st.markdown(f":material/check: `{refusal.call}` is carried out.")
        else:
            draw_said(f"`{refusal.call}`", refusal.said)


def _draw_experiment(known: Known) -> None:
    st.markdown(f"From the article *{known.claim.article}*. {known.claim.experiment}")
    if isinstance(known.spec, TimedClaim):
        st.markdown(
            f"Times are medians of paired ratios over up to {known.spec.rounds} interleaved rounds, with a 95 % band."
        )
    st.caption(STATED)
