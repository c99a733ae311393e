"""The section on finite differences: every chosen entry against the slope of the loss itself."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.finite_chart import finite_chart
from engine.figures.units import format_count, format_significant
from engine.gradients.results import Checked, CheckedEntry
from engine.gradients.spec import FiniteDifferenceSpec
from pages.backward.gradient_values_words import draw_run_error, draw_table
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

TABS = ("Every entry", "Where it cannot hold")
WHY = (
    "**A bend.** ReLU, max and abs have no slope where they bend; differences straddle the bend and autograd takes "
    "one side. An entry *bends* when a 64 times smaller step agrees or comes much nearer (a kink beside it, or strong "
    "curvature), or when the slopes to the left and to the right stay apart as the step shrinks (a kink at it).\n\n"
    "**Precision.** The quotient divides a rounding error of the loss by eps: in float32 that leaves two or three "
    "digits, so the losses here are float64 and the grey marks show what float32 losses would have said. A larger eps "
    "means less roundoff and more curvature; the best lies near the cube root of the precision, 1e-5 in float64.\n\n"
    "**Randomness.** Dropout with a new mask per loss would make the quotient noise; every loss starts from the same "
    "seed. **Meant to differ.** A straight-through estimator or a clipped backward is not the slope of its forward, "
    "and this check says so.\n\n"
    "A complex element is moved along its real and its imaginary axis: PyTorch's gradient is ∂L/∂re + i ∂L/∂im."
)


def check_numbers(outcome: Checked) -> tuple[KeyNumber, ...]:
    """Verdicts counted, the largest error, step and loss."""
    verdicts = [entry.verdict for entry in outcome.entries]
    relative = [relative_error(entry) for entry in outcome.entries if entry.verdict == "agrees"]
    return (
        KeyNumber("Agree", verdicts.count("agrees"), "count", "entries within rtol and the roundoff of the quotient"),
        KeyNumber("Bends", verdicts.count("bends"), "count", "entries whose error falls with the step, or at a kink"),
        KeyNumber("Differ", verdicts.count("differs") + verdicts.count("not finite"), "count", "all other entries"),
        KeyNumber("Worst agreeing", max(relative, default=None), "", "|grad − quotient| / max of both, in float64"),
        KeyNumber("eps", outcome.eps, "", "the step of `(f(x + eps) - f(x - eps)) / (2 * eps)`"),
    )


def relative_error(entry: CheckedEntry) -> float:
    """Error over the larger of both; 0 where both are 0."""
    scale = max(abs(entry.exact), abs(entry.numeric))
    return entry.error / scale if scale else 0.0


def draw_checks(spec: FiniteDifferenceSpec, outcome: Checked, before: Checked | None) -> None:
    """Chart, key numbers, the table of entries, and why an entry may not agree."""
    draw_run_error(outcome.error)
    if outcome.error is None and not outcome.entries:
        st.info("No leaf has a gradient to check.", icon=":material/do_not_disturb_on:")
    if outcome.entries:
        figure = finite_chart(outcome, shown_theme(), spec.rtol)
        st.plotly_chart(figure, key="gradients.finite", config={"displaylogo": False})
    draw_key_numbers(check_numbers(outcome), check_numbers(before) if before else None)
    if outcome.unchecked:
        st.warning(
            f"{format_count(outcome.unchecked)} more entries were not begun within {spec.budget_s:g} s. Take fewer "
            f"entries per leaf or a smaller model.",
            icon=":material/timer:",
        )
    for note in outcome.notes:
        st.caption(note)
    every, why = st.tabs(TABS, key="gradients.details", on_change="rerun")
    if every.open and outcome.entries:
        with every:
            table = check_table(outcome)
            draw_table(table)
            st.caption(f"Agreement allows roundoff of {format_significant(outcome.tolerance)} (estimated) beside rtol.")
    if why.open:
        with why:
            st.markdown(WHY)


def check_table(outcome: Checked) -> pd.DataFrame:
    """One row per entry."""
    entries = outcome.entries
    return pd.DataFrame(
        {
            "leaf": [entry.name for entry in entries],
            "index": [f"[{', '.join(map(str, entry.index))}]{entry.part and '.' + entry.part}" for entry in entries],
            "chosen": [entry.chosen for entry in entries],
            "verdict": [entry.verdict for entry in entries],
            ".grad": [entry.gradient for entry in entries],
            ".grad in float64": [entry.exact for entry in entries],
            "quotient in float64": [entry.numeric for entry in entries],
            "|error|": [entry.error for entry in entries],
            "quotient in own dtype": [entry.own_numeric for entry in entries],
            "one-sided gap": [entry.one_sided for entry in entries],
        }
    )
