"""What of a run the timeline shows: the picture, the stretch of events, and the moment looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from engine.figures.memory_frame import ACROSS, Across
from engine.figures.memory_lifetimes import STACKINGS, Stacking
from engine.figures.memory_timeline import Drawn
from engine.memory.ledger import MOMENTS, last_step, moment_event, peak_event, stretch
from engine.memory.spec import MemoryTrace
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments

PICTURE, STRETCH, LOOK = "memory_timeline.picture", "memory_timeline.stretch", "memory_timeline.look"
ACROSS_KEY, STACKING_KEY = "memory_timeline.across", "memory_timeline.stacking"
PICTURES = ("Categories", "Blocks")
WHOLE, PEAK = "whole run", "the peak of the run"
CLICKED = re.compile(r"event ([0-9]{1,8})")


@dataclass(frozen=True)
class Shown:
    """The choices of the page."""

    picture: str
    stacking: Stacking
    drawn: Drawn
    look: str


def draw_picture_choice() -> str:
    """Sums by category, or every large block by itself."""
    return draw_choice("Picture", PICTURES, PICTURE)


def draw_view() -> tuple[Across, Stacking]:
    """What is seldom changed."""
    with st.popover("View", icon=":material/tune:"):
        across = st.radio(
            "across", ACROSS, horizontal=True, **common_arguments(ACROSS_KEY, "What runs from left to right")
        )
        help_text = "Of the picture *Blocks*: oldest or largest at the bottom of the stack"
        stacking = st.radio("blocks", STACKINGS, horizontal=True, **common_arguments(STACKING_KEY, help_text))
    return next(o for o in ACROSS if o == (across or ACROSS[0])), next(
        o for o in STACKINGS if o == (stacking or STACKINGS[0])
    )


def draw_stretch(trace: MemoryTrace) -> int | None:
    """The step that is drawn, None for the whole run."""
    options = [WHOLE, *(f"step {number}" for number in range(1, last_step(trace) + 1))]
    _forget_unless_in(STRETCH, options)
    chosen = str(st.selectbox("drawn", options, **common_arguments(STRETCH, "A step alone is drawn larger")) or WHOLE)
    return None if chosen == WHOLE else int(chosen.removeprefix("step "))


def draw_look(trace: MemoryTrace) -> tuple[str, int | None]:
    """The moment looked at, in words and as an event: named here, or clicked in the picture."""
    moments = named_moments(trace)
    clicked = CLICKED.fullmatch(str(st.session_state.get(LOOK) or st.query_params.get(LOOK, "")))
    if clicked and int(clicked[1]) < trace.events:
        moments[f"event {int(clicked[1])}"] = int(clicked[1])
    _forget_unless_in(LOOK, list(moments))
    chosen = st.selectbox("look at", list(moments), **common_arguments(LOOK, "Or click a moment in the picture"))
    return (chosen, moments[chosen]) if chosen in moments else ("", None)


def named_moments(trace: MemoryTrace) -> dict[str, int]:
    """The peak of the run, then of every step what it has of MOMENTS: words -> event."""
    peak = peak_event(trace)
    found = {} if peak is None else {PEAK: peak}
    for step in range(1, last_step(trace) + 1):
        for moment in MOMENTS:
            event = moment_event(trace, moment, step)
            if event is not None:
                found[f"{moment}, step {step}"] = event
    return found


def choose_event(event: int) -> None:
    """Look at an event; call it from a callback, before the widgets are drawn."""
    st.session_state[LOOK] = f"event {event}"


def shown_of(
    trace: MemoryTrace, picture: str, across: Across, stacking: Stacking, step: int | None, look: str, event: int | None
) -> Shown:
    """The choices as data."""
    first, after = stretch(trace, step)
    return Shown(picture, stacking, Drawn(first, after, peak_event(trace, step), event, across), look)


def _forget_unless_in(key: str, options: list[str]) -> None:
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
