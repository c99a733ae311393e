"""The board and, beside it, the trace of the tensor that was clicked."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import Any

import streamlit as st

from engine import run
from engine.diagnostics.catalogue import program_source
from engine.diagnostics.results import Diagnosis, Step, Watched
from engine.diagnostics.spec import ProgramSpec
from engine.figures.diagnostics_board import LABELS, MEANINGS, TROUBLE, Board, Which, amount_words, board_of
from engine.figures.diagnostics_figure import draw_board
from engine.figures.palette import PALETTE
from engine.figures.units import format_shape
from pages.backward.diagnostics_controls import TENSOR, AnySpec
from pages.shared.fields import common_arguments
from pages.shared.theme import shown_theme

TROUBLE_ONLY = "diagnose.trouble"
HEIGHT = 560
PRESENTED = 1.25
STYLE = """<style>
.trace { list-style: none; padding: 0 !important; margin: 0 !important; font-size: .92rem; line-height: 1.35 }
.trace li { margin: 0 !important; display: grid;
  grid-template-columns: 1.7rem 1fr; padding: .38rem .4rem; border-radius: 6px }
.trace li.decides { outline: 2px solid var(--mark); background: color-mix(in srgb, var(--mark) 9%, transparent) }
.trace .n { opacity: .55; font-variant-numeric: tabular-nums }
.trace .a { font-weight: 650 }
.trace .e { opacity: .78; display: block; overflow-wrap: anywhere }
.trace code { display: block; font-size: .82rem; padding: .15rem .4rem; margin-top: .2rem; border-radius: 4px;
  background: color-mix(in srgb, currentColor 8%, transparent); white-space: pre-wrap; overflow-wrap: anywhere }
</style>"""


@lru_cache(maxsize=32)
def board(spec: AnySpec, which: Which) -> Board:
    """The board of a diagnosis that is already computed."""
    return board_of(run(spec), which)


def draw_board_and_trace(spec: AnySpec, diagnosis: Diagnosis, before: Diagnosis | None) -> None:
    """Side by side; a click on a mark chooses the tensor."""
    left, right = st.columns([12, 8], gap="medium")
    with right:  # first: what a link chooses is known once its widget is drawn
        _draw_trace(diagnosis, before)
    with left:
        _draw_board(spec, diagnosis)
        if isinstance(spec, ProgramSpec):
            _draw_source(spec, diagnosis)


def first_look(diagnosis: Diagnosis) -> str:
    """The tensor whose trace is shown when nobody has chosen: the first leaf in trouble, else the first leaf."""
    leaves = [one for one in diagnosis.watched if one.is_leaf and one.requires_grad] or list(diagnosis.watched)
    order = ("non_finite", "none", "zero")
    troubled = [one for state in order for one in leaves if one.state == state]
    meant = [one for one in diagnosis.watched if one.stands_for_a_leaf]
    found = [*troubled, *meant, *(one for one in diagnosis.watched if one.state in TROUBLE), *leaves]
    return found[0].name if found else ""


def chosen(diagnosis: Diagnosis) -> str:
    """The tensor chosen, if this diagnosis has it."""
    name = str(st.session_state.get(TENSOR) or "")
    return name if any(one.name == name for one in diagnosis.watched) else first_look(diagnosis)


def _draw_board(spec: AnySpec, diagnosis: Diagnosis) -> None:
    if not diagnosis.watched:
        st.info("There is no tensor to show: the program stopped before it had named one.", icon=":material/info:")
        return
    arguments = common_arguments(TROUBLE_ONLY, "Only rows with a gradient that is None, 0 or not finite")
    only = st.toggle("Only rows in trouble", **arguments)
    shown = board(spec, "trouble" if only else "everything")
    if not shown.cells:
        st.info("No row is in trouble. Switch *Only rows in trouble* off to see all.", icon=":material/check_circle:")
        return
    scale = PRESENTED if st.session_state.get("present") else 1.0
    figure = draw_board(shown, chosen(diagnosis), shown_theme(), scale)
    tall = figure.layout.height > HEIGHT
    with st.container(height=HEIGHT if tall else "content", border=tall, key="diagnose.frame"):
        st.plotly_chart(
            figure,
            key="diagnose.board",
            on_select=_choose,
            selection_mode="points",
            config={"displayModeBar": False},
        )
    if shown.left_out:
        st.caption(f"{shown.left_out} more tensors have no column here; choose them by name.")


def _choose() -> None:
    points: list[dict[str, Any]] = st.session_state["diagnose.board"].selection.points
    if points and points[0].get("customdata"):
        found = points[0]["customdata"]
        st.session_state[TENSOR] = found if isinstance(found, str) else found[0]


def _draw_source(spec: ProgramSpec, diagnosis: Diagnosis) -> None:
    body = program_source(spec.program, spec.mended)[1]
    st.code("\n".join(body), language="python", line_numbers=True, wrap_lines=True)
    for noted in diagnosis.noted:
        st.caption(f"The program noted `{noted.name}` =")
        st.code(noted.value, language=None, wrap_lines=True)
    for warning in diagnosis.warnings:
        st.code(warning.split(" (Triggered internally")[0], language=None, wrap_lines=True)


def _draw_trace(diagnosis: Diagnosis, before: Diagnosis | None) -> None:
    names = [one.name for one in diagnosis.watched]
    if not names:
        return
    current = chosen(diagnosis)
    if st.session_state.get(TENSOR) not in names:
        st.session_state[TENSOR] = current
    st.selectbox("Trace of", names, **common_arguments(TENSOR, "Or click a mark on the board"))
    one = next(one for one in diagnosis.watched if one.name == chosen(diagnosis))
    accent = PALETTE[MEANINGS[one.state]].accent(shown_theme())
    st.html(STYLE + trace_html(one, accent))
    earlier = next((old for old in before.watched if old.name == one.name), None) if before is not None else None
    if earlier is not None:
        st.caption(f"In A: {LABELS[earlier.state]}, {amount_words(earlier.grad or earlier.passed)}.")
    if not one.is_leaf and one.state == "passes":
        with st.popover("What would reading .grad say?", icon=":material/warning:"):
            st.code(f"UserWarning: {diagnosis.grad_of_non_leaf}", language=None, wrap_lines=True)


def trace_html(one: Watched, accent: str) -> str:
    """The numbered questions of a tensor, escaped."""
    head = f"{format_shape(one.shape)} {one.dtype}, value: {amount_words(one.value)}"
    steps = "".join(_step_html(number, step) for number, step in enumerate(one.steps, start=1))
    gradient = f"Gradient: {amount_words(one.grad or one.passed)}" if one.grad or one.passed else ""
    return (
        f'<div style="--mark: {accent}"><div style="opacity:.75;font-size:.85rem">{escape(head)}</div>'
        f'<p style="font-weight:600;margin:.4rem 0;overflow-wrap:anywhere">{escape(one.verdict)}</p>'
        f'<ol class="trace">{steps}</ol><div style="opacity:.75;font-size:.85rem">{escape(gradient)}</div></div>'
    )


def _step_html(number: int, step: Step) -> str:
    line = f"<code>{escape(f'{step.source.file}:{step.source.line}  {step.source.text}')}</code>" if step.source else ""
    evidence = f'<span class="e">{escape(step.evidence)}</span>' if step.evidence else ""
    return (
        f'<li class="{"decides" if step.decides else "asked"}"><span class="n">{number}</span><div>'
        f'{escape(step.question)} <span class="a">{escape(step.answer)}</span>{evidence}{line}</div></li>'
    )
