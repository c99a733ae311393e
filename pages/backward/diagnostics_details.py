"""Below the board: where a NaN began, the scan, units, hooks, the cost of looking, and how to read all this."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from engine.diagnostics.results import Birth, Diagnosis, Finding
from engine.diagnostics.spec import DetectorSpec, DiagnosisSpec
from engine.figures.diagnostics_words import (
    BIRTH_COLUMNS,
    OPERAND_COLUMNS,
    birth_row,
    operand_row,
    origin_sentence,
    source_words,
)
from engine.figures.units import format_significant
from pages.backward.diagnostics_controls import AnySpec
from pages.backward.diagnostics_cost import draw_cost
from pages.backward.diagnostics_headline import plain
from pages.backward.diagnostics_units import draw_units

TABS = ("Where NaN began", "Consistency scan", "Unused and dead", "Hooks", "Cost of looking", "How to read this")
HOW_TO_READ = (
    "A row of the board is a module in the order it ran, or a variable of the program. A cell is a tensor: its mark "
    "says what became of its gradient after one forward and backward, the number is its 2-norm. The trace asks the "
    "questions in the order in which they rule things out, each answered from what was recorded: `requires_grad`, "
    "`is_leaf`, the walk over `next_functions` from the loss, hooks on every node, and every operation of the forward "
    "as the program called it. *Cut* is the first operation after which nothing that came of the tensor requires a "
    "gradient.\n\n"
    "A non-finite value is *born* where an operation makes one of finite operands (or NaN of infinities); from there "
    "it is followed by its storage, and a birth that reaches neither the loss nor a gradient was masked on the way. "
    "Anomaly mode checks for NaN only, in backward only, at the granularity of a node; infinities pass. A unit is "
    "*dead* when its activation is 0 for every sample of this batch: another batch may wake it."
)


def draw_details(spec: AnySpec, diagnosis: Diagnosis) -> None:
    """One tab at a time."""
    tabs = st.tabs(TABS, key="diagnose.details", on_change="rerun")
    draws: tuple[Callable[[], object], ...] = (
        lambda: _draw_births(diagnosis),
        lambda: _draw_scan(diagnosis),
        lambda: draw_units(diagnosis),
        lambda: _draw_hooks(diagnosis),
        lambda: _draw_cost(spec),
        lambda: st.markdown(HOW_TO_READ),
    )
    for tab, draw in zip(tabs, draws, strict=True):
        if tab.open:
            with tab:
                draw()


def _draw_births(diagnosis: Diagnosis) -> None:
    if not diagnosis.births:
        st.success("Every operation of forward and backward returned finite values.", icon=":material/check_circle:")
        return
    ours, theirs = st.columns(2, gap="medium")
    number = diagnosis.origin if diagnosis.origin is not None else 0
    with ours:
        st.markdown("**What this page finds**")
        _draw_birth(diagnosis.births[number])
    with theirs:
        st.markdown("**What `torch.autograd.detect_anomaly` says of the same step**")
        if diagnosis.anomaly is None:
            st.info("Nothing: no node returned a NaN in backward. It looks neither at infinities nor at the forward.")
        else:
            words = f"{diagnosis.anomaly.type}: {diagnosis.anomaly.message}"
            st.code(words, language=None, wrap_lines=True, height=300 if len(words) > 700 else "content")
    st.markdown("**Every birth, in the order of running**")
    rows = [birth_row(place, birth) for place, birth in enumerate(diagnosis.births)]
    columns = [name or f"{' ' * place}" for place, name in enumerate(BIRTH_COLUMNS)]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch")
    if diagnosis.more_births:
        st.caption(f"{diagnosis.more_births} more are not listed.")


def _draw_birth(birth: Birth) -> None:
    st.markdown(plain(origin_sentence(birth)))
    if birth.source is not None:
        st.code(f"# {source_words(birth.source)}\n{birth.source.text}", language="python", wrap_lines=True)
    if birth.operands:
        rows = [operand_row(one) for one in birth.operands]
        st.dataframe(pd.DataFrame(rows, columns=list(OPERAND_COLUMNS)), hide_index=True, width="stretch")
    for element in birth.elements:
        at = ", ".join(map(str, element.index))
        beside = ", ".join(f"{name} {format_significant(value, 4)}" for name, value in element.operands)
        words = element.arithmetic or f"{beside or 'result'} → {format_significant(element.result)}"
        st.code(f"[{at}]  {words}", language=None)


def _draw_scan(diagnosis: Diagnosis) -> None:
    if not diagnosis.findings:
        st.success("Device, dtype, layout, sharing and values agree.", icon=":material/check_circle:")
        return
    rows = [_finding_row(one) for one in diagnosis.findings]
    frame = pd.DataFrame(rows, columns=["", "what", "tensor or module", "finding"])
    st.dataframe(frame, hide_index=True, width="stretch")
    if diagnosis.error is not None:
        st.caption("What PyTorch made of it stands above the board.")


def _finding_row(finding: Finding) -> tuple[str, str, str, str]:
    return finding.severity, finding.check, finding.subject, finding.words


def _draw_hooks(diagnosis: Diagnosis) -> None:
    if not diagnosis.hooks:
        st.info(
            "No hook is registered on a module, leaf, named tensor or saved tensor. *Around backward* in the sidebar "
            "registers one of every kind.",
            icon=":material/phishing:",
        )
        return
    rows = [(one.where, one.kind, one.function, one.origin, one.calls) for one in diagnosis.hooks]
    frame = pd.DataFrame(rows, columns=["on", "kind", "function", "defined in", "calls"])
    st.dataframe(frame, hide_index=True, width="stretch")
    st.caption(
        "A tensor hook on a leaf sees the sum over all uses once, before `.grad` is written; a post-accumulate hook "
        "runs after. The page's own hooks, on every node, are not listed: they are gone when this is read."
    )


def _draw_cost(spec: AnySpec) -> None:
    if isinstance(spec, DiagnosisSpec):
        draw_cost(DetectorSpec(model=spec.model))
    else:
        st.info(
            "Measured on models: a program of three lines is over before a clock can tell.", icon=":material/timer:"
        )
