"""What the memory timeline shows: the picture, A's below it, numbers and details."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import msgspec
import streamlit as st

from engine import run
from engine.figures.memory_lifetimes import lifetimes_words
from engine.figures.memory_timeline import COLUMNS
from engine.figures.palette import Theme
from engine.figures.units import format_count
from engine.memory.ledger import live_totals, peak_event, stretch
from engine.memory.spec import MemorySpec, MemoryTrace
from pages.memory.memory_ledger_blocks import choose_block, chosen_block, draw_chosen, sum_of
from pages.memory.memory_ledger_picture import show_picture
from pages.memory.memory_ledger_view import draw_error
from pages.memory.memory_timeline_controls import PICTURES, Shown, choose_event
from pages.memory.memory_timeline_details import draw_against, draw_moment, draw_peak, draw_steps
from pages.memory.memory_timeline_exports import picture_svg, title_of
from pages.memory.memory_timeline_numbers import key_numbers, peak_words
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme

TABS = ("The moment", "What held the peak", "Step by step", "Against A", "How to read this")
HOW_TO_READ = (
    "Bytes change only when the allocator gives out or takes back a block, so the picture is made of steps: nothing "
    "is interpolated. The categories are stacked, what stays at the bottom, what comes and goes on top. The dashed "
    "line is the counter of the allocator itself; it lies on the upper edge when every byte is accounted for. A "
    "block's category is told from hindsight: what backward needs is *saved* from the moment it is computed until "
    "that backward has ended (what lives on is *output* or *temporary* then), a gradient is *gradient* while it is "
    "still on its way into `.grad`. Striped stretches are forwards that a checkpoint runs again inside of backward.\n\n"
    "*Blocks* draws the largest blocks one by one, as the viewer of `torch.cuda.memory` does: a block is as high as "
    "its bytes and as long as its life, and sinks when one below it goes. It is not the order of addresses."
)


def draw_run(
    spec: MemorySpec, trace: MemoryTrace, shown: Shown, other: tuple[MemorySpec, MemoryTrace] | None, step: int | None
) -> None:
    """Peak in words, picture, numbers and details of a run; `other` is A."""
    draw_error(trace)
    st.markdown(peak_words(trace))
    if not trace.events:
        return
    if other is not None:
        most = max(_most(trace), _most(other[1]))
        shown = replace(shown, drawn=msgspec.structs.replace(shown.drawn, least_bytes=most))
    _draw_picture(spec, trace, shown)
    if other is not None:
        _draw_a(other, shown, step)
    draw_key_numbers(key_numbers(trace), key_numbers(other[1]) if other is not None else None)
    if shown.picture == PICTURES[1]:
        draw_chosen(spec, trace, shown.drawn.chosen or 0, _chosen(spec, trace, shown))
    _draw_tabs(trace, shown, None if other is None else other[1])
    for note in trace.notes:
        st.caption(note)
    for warning in trace.warnings:
        st.code(warning, language=None, wrap_lines=True)


def _most(trace: MemoryTrace) -> int:
    return int(live_totals(trace).max(initial=0))


def _chosen(spec: MemorySpec, trace: MemoryTrace, shown: Shown) -> int | None:
    event = shown.drawn.chosen if shown.drawn.chosen is not None else shown.drawn.first
    return chosen_block(spec, trace, trace.blocks.alive_at(event).tolist())


@lru_cache(maxsize=32)
def _picture(spec: MemorySpec, shown: Shown, theme: Theme, selected: int) -> str:
    return picture_svg(spec, run(spec), shown, theme, selected)


def _draw_picture(spec: MemorySpec, trace: MemoryTrace, shown: Shown) -> None:
    chosen = _chosen(spec, trace, shown)

    def choose(kind: str, number: int) -> None:
        if kind == "event":
            choose_event(number)
        else:
            choose_block(spec, number)

    show_picture(
        _picture(spec, shown, shown_theme(), -1 if chosen is None else chosen),
        key=f"memory_timeline.{shown.picture}.{sum_of(spec)}",
        label=title_of(spec),
        name="memory-timeline",
        on_choose=choose,
    )
    st.caption(told_words(trace, shown))


def told_words(trace: MemoryTrace, shown: Shown) -> str:
    """How much of the run the picture shows."""
    if shown.picture == PICTURES[1]:
        return lifetimes_words(trace, shown.drawn)
    events = shown.drawn.after - shown.drawn.first
    if events <= 2 * COLUMNS:
        return f"All {format_count(events)} events are drawn. Hover for bytes, click to look at a moment."
    return (
        f"{format_count(events)} events in {format_count(COLUMNS)} columns: each keeps its smallest and largest "
        "value of every category and of the sum, so no peak is lost. Hover for bytes, click to look at a moment."
    )


def _draw_a(other: tuple[MemorySpec, MemoryTrace], shown: Shown, step: int | None) -> None:
    """A's picture on the same scale of bytes."""
    spec, trace = other
    first, after = stretch(trace, step)
    drawn = msgspec.structs.replace(shown.drawn, first=first, after=after, peak=peak_event(trace, step), chosen=None)
    st.markdown(f":material/keep: **A**, on the same scale of bytes. {peak_words(trace)}")
    show_picture(
        _picture(spec, replace(shown, drawn=drawn), shown_theme(), -1),
        key=f"memory_timeline.A.{shown.picture}.{sum_of(spec)}",
        label=f"A: {title_of(spec)}",
        name="memory-timeline-a",
    )


def _draw_tabs(trace: MemoryTrace, shown: Shown, before: MemoryTrace | None) -> None:
    moment, peak, steps, against, explanation = st.tabs(TABS, key="memory_timeline.tab", on_change="rerun")
    if moment.open:
        with moment:
            draw_moment(trace, shown.look, shown.drawn.chosen)
    if peak.open:
        with peak:
            draw_peak(trace)
    if steps.open:
        with steps:
            draw_steps(trace)
    if against.open:
        with against:
            draw_against(trace, before)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)
