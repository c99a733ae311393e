"""The verdicts of PyTorch's own checks, run when asked for."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.operator_table import check_rows
from engine.figures.units import format_significant
from engine.operator_ladder.results import OperatorChecks, WorstEntry
from engine.operator_ladder.spec import OperatorChecksSpec, OperatorLadderSpec
from pages.shared.asked import asked
from pages.shared.jobs import compute

MARKS = {
    "passed": ":green[:material/check_circle:]",
    "failed": ":red[:material/cancel:]",
    "refused": ":gray[:material/block:]",
    "does not apply": ":gray[:material/do_not_disturb_on:]",
}
WAITING_HEIGHT, WORDS_HEIGHT, LONG = 300, 280, 600


def draw_checks(spec: OperatorLadderSpec) -> None:
    """A button, then one line per check with PyTorch's words where it fails."""
    checks = OperatorChecksSpec(operator=spec.operator)
    words = "Runs `torch.library.opcheck`, `gradcheck` and `gradgradcheck` on a small input, now, in about ten seconds."
    if asked("operators.checked", checks, "Run the checks", words):
        _draw_verdicts(compute(checks, slot="operators.checks", height=WAITING_HEIGHT))


def _draw_verdicts(found: OperatorChecks) -> None:
    st.markdown(f"`{found.schema}` :gray[{'compiled code' if found.is_compiled else 'reference implementation'}]")
    for name, asks, outcome, seconds in check_rows(found.checks):
        st.markdown(f"{MARKS[outcome]} **{name}** {outcome} :gray[{asks} {seconds}]")
    if found.worst is not None:
        _draw_worst(found.worst)
    for check in found.checks:
        if check.said is not None:
            st.markdown(f"**{check.name}**, in PyTorch's words")
            words = f"{check.said.type}: {check.said.message}"
            st.code(words, language=None, wrap_lines=True, height=WORDS_HEIGHT if len(words) > LONG else "content")
        elif check.reason:
            st.caption(f"{check.name}: {check.reason}.")


def _draw_worst(worst: WorstEntry) -> None:
    place = ", ".join(map(str, worst.index))
    st.markdown("**Furthest apart**, over every entry of every floating input, float64")
    row = (
        f"input {worst.input}[{place}] = {format_significant(worst.value, 4)}",
        f"{worst.backward:.10g}",
        f"{worst.difference_quotient:.10g}",
        format_significant(abs(worst.backward - worst.difference_quotient)),
    )
    columns = ["entry", "backward says", "central difference", "apart"]
    st.dataframe(pd.DataFrame([row], columns=columns), hide_index=True, width="stretch")
