"""The timeline of a program as a component: hover tells, a click selects a statement."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from pathlib import Path

import streamlit as st

from engine import run
from engine.figures.in_place_lanes import Timeline, timeline
from engine.figures.in_place_svg import timeline_svg
from engine.figures.palette import Theme
from engine.in_place.results import ProgramRun
from engine.in_place.spec import ProgramSpec
from pages.shared.bound import read_parameter
from pages.shared.theme import shown_theme

_FOLDER = Path(__file__).parent
_TIMELINE = st.components.v2.component(
    "torch_atlas_in_place",
    html='<div class="atlas-timeline" data-atlas-timeline></div>\n',
    css=(_FOLDER / "in_place_timeline.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "in_place_timeline.js").read_text(encoding="utf-8"),
)
STATEMENT = "statement"
"""Link parameter: the selected line, with a sum of the program it belongs to."""
TALLEST = 640
PRESENTED = 1.4
"""How much larger the picture is in presenter mode, where it then still fits beside the sidebar."""
FITTING = 920
"""Pixels beside the sidebar of a window that is 1280 wide."""


def draw_timeline(spec: ProgramSpec, line: int) -> None:
    """The picture of the program, the row of `line` selected."""
    key = f"in_place.timeline.{_sum(spec)}"

    def clicked() -> None:
        chosen = getattr(st.session_state.get(key), "line", None)
        if isinstance(chosen, int):
            select_line(spec, chosen)

    svg = picture_svg(spec, shown_theme(), line)
    svg, height = presented(svg)
    _TIMELINE(key=key, data={"svg": svg}, width="stretch", height=height, on_line_change=clicked)


def presented(svg: str) -> tuple[str, int]:
    """The picture, larger in presenter mode, and the pixels it is given: all of it up to TALLEST."""
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    if found is None:
        return svg, TALLEST
    scale = max(1.0, min(PRESENTED, FITTING / int(found[1]))) if st.session_state.get("present") else 1.0
    width, height = (round(scale * int(one)) for one in found.groups())
    return svg.replace(found[0], f'width="{width}" height="{height}"', 1), min(round(scale * TALLEST), height + 18)


@lru_cache(maxsize=64)
def _shown(spec: ProgramSpec) -> Timeline:
    return timeline(spec.program, run(spec).run)


def picture_svg(spec: ProgramSpec, theme: Theme, line: int = 0) -> str:
    """The timeline of a program that is already computed."""
    return timeline_svg(_shown(spec), theme, line, "Statements down, memory and its version counters across")


@lru_cache(maxsize=64)
def fixed_svg(spec: ProgramSpec, theme: Theme) -> str:
    """The timeline of the corrected program; "" where there is none."""
    fix = run(spec).fix
    return "" if fix is None else timeline_svg(timeline(fix.program, fix.run), theme, 0, "The corrected program")


def draw_fixed_timeline(spec: ProgramSpec) -> None:
    """The corrected program's own picture."""
    svg = fixed_svg(spec, shown_theme())
    svg, height = presented(svg)
    _TIMELINE(key=f"in_place.fixed.{_sum(spec)}", data={"svg": svg}, width="stretch", height=height)


def _sum(spec: ProgramSpec) -> str:
    return f"{zlib.crc32(spec.program.encode()):08x}"


def select_line(spec: ProgramSpec, line: int) -> None:
    """Put the selected statement into the link."""
    st.query_params[STATEMENT] = f"{_sum(spec)}.{line}"


def selected_line(spec: ProgramSpec, traced: ProgramRun) -> int:
    """The statement of the link, if it is of this program; else the one that breaks, or the last write in place."""
    program, _, number = read_parameter(STATEMENT).partition(".")
    lines = [step.line for step in traced.steps]
    if program == _sum(spec) and number.isdecimal() and len(number) < 5 and int(number) in lines:
        return int(number)
    return telling_line(traced)


def telling_line(traced: ProgramRun) -> int:
    """The statement to look at first: what broke a saved tensor, what raised, else the last write."""
    for slot in traced.culprits:
        for step in traced.steps:
            if any((s.node, s.slot) == (slot.node, slot.slot) and s.state in BROKEN for s in step.saved):
                return step.line
    if traced.error is not None or not traced.bumps:
        return traced.steps[-1].line
    return traced.bumps[-1].line


BROKEN = ("stale", "overwritten")
