"""The section on one program: verdict, timeline, numbers, PyTorch's words beside plain ones, the corrected program."""

from __future__ import annotations

import difflib

import pandas as pd
import streamlit as st

from engine import run
from engine.figures.in_place_table import STATE_COLUMNS, gradient_rows, state_rows
from engine.figures.in_place_words import explanation, headline
from engine.in_place.language import lines_of
from engine.in_place.results import Fix, ProgramRun
from engine.in_place.spec import ProgramSpec, Traced
from pages.backward.in_place_controls import use_program
from pages.backward.in_place_details import draw_graphs, draw_saved, draw_writes
from pages.backward.in_place_numbers import program_numbers
from pages.backward.in_place_timeline import draw_fixed_timeline, draw_timeline, selected_line
from pages.shared.bound import bind
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import code_text

TABS = ("State after the statement", "Saved tensors", "Writes in place", "Graph before and after", "How to read this")
ICONS = {"wrong gradient": "unpublished", "would break backward": "report", "refused": "front_hand"}
HOW_TO_READ = (
    "Every tensor counts its in-place writes (`tensor._version`). Views and `detach()` share memory *and* counter with "
    "the tensor they came from; `.data` shares the memory and has a counter of its own. A node that needs a tensor in "
    "backward saves it together with its version. Backward compares: equal, and it reads the tensor; not equal, and it "
    "raises, because the values it was promised are gone. Nothing compares values, so a write that the counter does "
    "not "
    "see (`.data`) gives a wrong gradient without a word.\n\n"
    "In the picture each panel is one memory, each line in it one version counter. A pill is the version from that "
    "statement on; filled where a call raised it. A disk is a node that saved this memory, its line lasts until "
    "backward reads it, and turns red where the counter moves on first. Click a statement to see every tensor after it."
)


@st.fragment
def draw_program(spec: ProgramSpec, pinned: ProgramSpec | None) -> None:
    """All of it; a click on a statement reruns only this."""
    traced = run(spec)
    line = selected_line(spec, traced.run)
    draw_verdict(traced)
    draw_timeline(spec, line)
    before = run(pinned) if pinned is not None else None
    draw_key_numbers(program_numbers(traced), program_numbers(before) if before is not None else None)
    _draw_reasons(spec, traced)
    _draw_details(spec, traced, line)


def draw_verdict(traced: Traced) -> None:
    """One line: what became of the program."""
    verdict = traced.run.verdict
    words = code_text(headline(traced.run))
    if verdict == "runs":
        st.success(words, icon=":material/check:")
        return
    end = traced.run.steps[-1]
    place = f" at line {end.line}" if traced.run.error is not None else ""
    node = f", in `{traced.run.raised_in}`" if traced.run.raised_in else ""
    fix = " Corrected below." if traced.fix is not None else ""
    st.warning(f"**{words}**{place}{node}.{fix}", icon=f":material/{ICONS.get(verdict, 'block')}:")


def _draw_reasons(spec: ProgramSpec, traced: Traced) -> None:
    said = traced.run.error or traced.run.probe
    sentences = explanation(traced.run)
    if said is None and not sentences:
        return
    words, plain = st.columns(2, gap="medium")
    with words:
        st.markdown(_who_said(traced.run))
        st.code(f"{said.type}: {said.message}" if said else "nothing", language=None, wrap_lines=True)
    with plain:
        st.markdown("**In plain words**")
        st.markdown("\n\n".join(sentences) or "This message speaks for itself.")
    if traced.fix is not None:
        _draw_fix(spec, traced.run, traced.fix)
    elif traced.run.verdict != "refused":
        st.caption("No rule of this page corrects this program; nothing is suggested that was not run.")


def _who_said(traced: ProgramRun) -> str:
    """Where PyTorch's words come from: the program, or a backward that it does not call."""
    if traced.verdict == "refused":
        return "**This page says**"
    if traced.error is None and traced.probe is not None:
        return f"**PyTorch would say** to a backward from `{traced.probed}`"
    return "**PyTorch said**"


def _draw_fix(spec: ProgramSpec, broken: ProgramRun, fix: Fix) -> None:
    with st.container(border=True, key="in_place.fix"):
        st.markdown(f":material/build: **The corrected program, run:** {fix.rule}")
        code, outcome = st.columns(2, gap="medium")
        code.code(difference(spec.program, fix.program), language="diff")
        with outcome:
            rows = gradient_rows(broken, fix.run)
            if rows:
                columns = ["leaf", "gradient before", "gradient corrected"]
                st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch", height="content")
            st.caption(_same_words(fix))
            with st.container(horizontal=True):
                st.button("Use this program", key="in_place.use", on_click=use_program, args=(fix.program,))
                shows = st.toggle("Its timeline", **bind("in_place.fixed"))
        if shows:
            draw_fixed_timeline(spec)


def _same_words(fix: Fix) -> str:
    if fix.same_values is None:
        return "It ran to its end. The first program never came so far, so there are no values to compare."
    return (
        "It ran to its end. Every name that both programs have holds the same values, and the gradients are those of "
        "the first program with a copy of every saved tensor, taken as it was saved."
    )


def difference(before: str, after: str) -> str:
    """The lines of both programs, those taken out with -, those put in with +."""
    lines = difflib.ndiff(lines_of(before.strip("\n")), lines_of(after.strip("\n")))
    return "\n".join(line for line in lines if not line.startswith("?"))


def _draw_details(spec: ProgramSpec, traced: Traced, line: int) -> None:
    place = next(place for place, step in enumerate(traced.run.steps) if step.line == line)
    step = traced.run.steps[place]
    before = traced.run.steps[place - 1] if place else None
    st.markdown(f"Line {line}: `{code_text(step.text)}`" + (f" under {', '.join(step.modes)}" if step.modes else ""))
    for warning in step.warnings:
        st.caption(f":material/warning: {warning}")
    state, saved, writes, graphs, explained = st.tabs(TABS, key="in_place.details", on_change="rerun")
    if state.open:
        with state:
            rows = state_rows(traced.run, step, before)
            draw_table(pd.DataFrame(rows, columns=list(STATE_COLUMNS)))
    if saved.open:
        with saved:
            draw_saved(traced.run, step)
    if writes.open:
        with writes:
            draw_writes(traced.run)
    if graphs.open:
        with graphs:
            draw_graphs(spec, place)
    if explained.open:
        with explained:
            st.markdown(HOW_TO_READ)


def draw_table(table: pd.DataFrame) -> None:
    """A table as high as its rows."""
    st.dataframe(table, hide_index=True, width="stretch", height="content")
