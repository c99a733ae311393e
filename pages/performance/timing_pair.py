"""Two sides against each other: the verdict, the agreement beside it, every sample, and tabs for the rest."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.figures.palette import PALETTE
from engine.figures.timing_chart import colour_of, ratio_chart
from engine.figures.timing_samples import rounds_chart, samples_chart, spent_chart, time_spent
from engine.figures.timing_words import (
    agreement_words,
    band_words,
    cold_words,
    failure_words,
    fault_words,
    headline,
)
from engine.figures.units import format_count, format_time
from engine.timing.comparison import Comparison
from engine.timing.results import Distance, Side, Timing
from engine.timing.spec import TimingSpec
from pages.performance.timing_again import draw_again
from pages.performance.timing_compiled import draw_compiled
from pages.performance.timing_numbers import results_table, timing_numbers
from pages.performance.timing_sweep import draw_sweep
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

TABS = ("Rounds", "Where the time went", "Results", "Size sweep", "torch.compile", "How to read this")
BUSY = (
    ":orange-badge[:material/speed: busy machine] Both sides met the same noise, but caches and clocks were shared: "
    "expect other times, and a ratio outside the band, from another run."
)
QUIET = {"displayModeBar": False}
HOW_TO_READ = (
    "Every round times A and B once each, right after the other, in an order that turns; a ratio is B / A of the same "
    "round. The number is their median, the band is how far that median would move if other rounds of "
    "**this process** had been drawn (bootstrap, 95 %). It does not hold what another process would give: where its "
    "memory lies and what else runs move the ratio too, by more than the band on a busy machine. *Measure again* asks "
    "another process. A winner is named only "
    "when the band leaves 1 out, the ratio is at least 2 % from 1, *and* so many rounds agree that chance alone does "
    "it in fewer than one of 500 comparisons (sign test: 21 of 25 rounds). "
    "**No difference shown** is a result: it does not say that both are equal, only that these samples cannot tell. "
    "With one thread each, thread CPU time counts, which other programs do not enter; with more, wall time. Each side "
    "is called once to warm up, and the rounds up to 0 warm up too: they are shown, and in no ratio. Both sides read "
    "the same operands where these are alike.\n\n"
    "Before the first round malloc is brought to where a long-running process arrives: blocks below 32 MiB are handed "
    "out again with their pages, larger ones come from the system with every page new. Without that, outputs **below "
    "32 MiB** fault as well whenever the heap was trimmed before, in one process and not in the next; it can still "
    "happen when one call frees more than 64 MiB. A line below the verdict says so when faults differ between rounds "
    "or between the sides."
)


def draw_pair(spec: TimingSpec, timing: Timing, before: Timing | None) -> None:
    """Sides, verdict and agreement; samples and ratios; key numbers; details."""
    _draw_titles(timing)
    comparison = timing.comparison
    if comparison is None:
        _draw_failures(timing)
        return
    draw_verdict(timing, comparison)
    draw_again(spec, timing.machine)
    st.plotly_chart(samples_chart(comparison, shown_theme()), key="timing.samples", config=QUIET)
    ratios = ratio_chart(comparison, shown_theme(), order=comparison.names).update_layout(margin_t=4, height=130)
    st.plotly_chart(ratios, key="timing.ratio", config=QUIET)
    draw_key_numbers(timing_numbers(timing), timing_numbers(before) if before else None, "pinned")
    if before:
        st.caption(f"Differences are to the pinned run: A {before.a.title}, B {before.b.title}.")
    _draw_tabs(spec, timing, comparison)


def _draw_titles(timing: Timing) -> None:
    theme = shown_theme()
    rows = [
        f'<span style="color:{colour_of(place, theme)};font-weight:700">{name}</span>&ensp;{escape(side.title)}'
        for place, (name, side) in enumerate((("A", timing.a), ("B", timing.b)))
    ]
    st.html(f'<div style="line-height:1.7">{"<br>".join(rows)}</div>')


def _draw_failures(timing: Timing) -> None:
    for name, side in (("A", timing.a), ("B", timing.b)):
        if side.refused:
            draw_said(failure_words(side, name), side.refused)
        elif side.unavailable:
            st.warning(failure_words(side, name), icon=":material/build:")
    st.info("Nothing was timed. Change the side that did not run.", icon=":material/timer_off:")


def draw_verdict(timing: Timing, comparison: Comparison) -> None:
    """Who is faster and whether the results agree, with equal weight; a loaded machine is a warning below."""
    winner = comparison.names.index(comparison.winner) if comparison.winner else None
    accent = PALETTE["operation"].accent(shown_theme()) if winner is None else colour_of(winner, shown_theme())
    faster = _card(headline(comparison), band_words(comparison), accent, "≈" if winner is None else "⚑")
    style = "display:grid;grid-template-columns:repeat(auto-fit,minmax(24rem,1fr));gap:1rem"
    st.html(f'<div style="{style}">{faster}{_agreement_card(timing.agreement)}</div>')
    if timing.machine.is_loaded:
        st.markdown(BUSY)
    for words in fault_words(comparison):
        st.markdown(f":orange-badge[:material/memory: page faults] {words}")


def _agreement_card(found: Distance) -> str:
    keys = {"identical": "kept_sparse", "equal up to rounding": "kept_sparse", "different": "wrong"}
    titles = {
        "identical": "Same results",
        "equal up to rounding": "Same results up to rounding",
        "different": "RESULTS DIFFER",
        "not comparable": "Results cannot be compared",
    }
    accent = PALETTE[keys.get(found.verdict, "operation")].accent(shown_theme())
    marks = {"different": "✗", "not comparable": "?"}
    return _card(titles[found.verdict], agreement_words(found), accent, marks.get(found.verdict, "✓"))


def _card(title: str, words: str, accent: str, mark: str) -> str:
    return (
        f'<div style="border:1px solid {accent};border-left:6px solid {accent};border-radius:8px;padding:.6rem .9rem">'
        f'<div style="font-size:1.35rem;font-weight:700;color:{accent}">{mark} {escape(title)}</div>'
        f'<div style="font-variant-numeric:tabular-nums">{escape(words)}</div></div>'
    )


def _draw_tabs(spec: TimingSpec, timing: Timing, comparison: Comparison) -> None:
    tabs = st.tabs(TABS, key="timing.details", on_change="rerun")
    with tabs[0]:
        if tabs[0].open:
            st.plotly_chart(rounds_chart(comparison, shown_theme()), key="timing.rounds.chart", config=QUIET)
            st.caption(f"{cold_words(timing)}; in no ratio. A was called first, so B met what A had warmed up.")
            for note in comparison.notes:
                st.caption(note)
    with tabs[1]:
        if tabs[1].open:
            _draw_spent(comparison)
    with tabs[2]:
        if tabs[2].open:
            _draw_results(timing)
    with tabs[3]:
        if tabs[3].open:
            draw_sweep(spec)
    with tabs[4]:
        if tabs[4].open:
            draw_compiled(spec)
    with tabs[5]:
        if tabs[5].open:
            st.markdown(HOW_TO_READ)


def _draw_spent(comparison: Comparison) -> None:
    st.plotly_chart(spent_chart(comparison, shown_theme()), key="timing.spent", config=QUIET)
    for name, one, usage in zip(comparison.names, time_spent(comparison), comparison.usage, strict=True):
        waiting = f"{format_time(one.not_running_s)} of {format_time(one.wall_s)} wall time off the processor"
        threaded = one.other_threads_s > 0.02 * one.wall_s
        others = f", {format_time(one.other_threads_s)} of other threads" if threaded else ""
        st.caption(
            f"**{name}**: {waiting}{others}; {format_count(round(one.faults))} page faults a call (median), "
            f"{format_time(one.system_s)} a call in the kernel (mean); over all rounds {usage.preemptions} times "
            f"taken off the processor, {usage.waits} times waited."
        )
    st.caption(
        "Wall beyond CPU time is waiting: for a processor that another program has, for other threads, or a disk. CPU "
        "beyond wall is work of several threads at once. Page faults are served in the kernel and count as CPU time. "
        "The split between own code and kernel is the system's own estimate."
    )


def _draw_results(timing: Timing) -> None:
    st.dataframe(results_table(timing), hide_index=True, width="stretch")
    for name, side in (("A", timing.a), ("B", timing.b)):
        if side.to_reference is not None:
            st.caption(agreement_words(side.to_reference, name, "its float64 reference") + ".")
    st.caption(_outputs(timing.a, "A") + " " + _outputs(timing.b, "B"))


def _outputs(side: Side, name: str) -> str:
    listed = ", ".join(f"{label} {tuple(shape)} {dtype}" for label, shape, dtype in side.outputs[:4])
    more = f" and {len(side.outputs) - 4} more" if len(side.outputs) > 4 else ""
    return f"{name} gives {listed}{more}."
