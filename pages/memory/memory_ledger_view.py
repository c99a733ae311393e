"""What the memory ledger shows of a moment: treemap, numbers, the chosen block, tables."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from engine import run
from engine.figures.memory_beside import memory_beside
from engine.figures.memory_tree import LEVELS
from engine.figures.memory_treemap import memory_treemap
from engine.figures.palette import Theme
from engine.memory.ledger import Moment, moment_event
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.pytorch_said import PyTorchSaid
from pages.memory.memory_ledger_blocks import choose_block, chosen_block, draw_blocks, draw_facts, draw_kept, sum_of
from pages.memory.memory_ledger_groups import draw_groups
from pages.memory.memory_ledger_numbers import key_numbers
from pages.memory.memory_ledger_picture import show_picture
from pages.shared.fields import common_arguments
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

GROUPED_BY = "memory_ledger.levels"
TABS = ("Blocks, largest first", "By group", "How to read this")
HOW_TO_READ = (
    "Every rectangle is one **block** of the allocator: what it gave out at once and takes back at once. A block is "
    "counted once, however many tensors look into it; views and tied weights are one block with several holders. "
    "The category is told from hindsight: an intermediate is *saved for backward* from its birth because a node "
    "refers to it in the end, until the backward that frees it has ended; a gradient is one because it becomes some "
    "parameter's `.grad`; *temporary* is all that nothing refers to but the running computation. The allocator's "
    "own counter must say the same sum as the blocks after every single event; *Largest difference* is how far they "
    "ever were apart.\n\n"
    "With A pinned the bars come first: per category A's bytes (outline) and this run's (filled) at the same moment, "
    "the largest difference on top.\n\n"
    "Saved inputs and weights are not counted as *saved*: they are alive anyway, so letting go of the graph would "
    "not free them. *After forward* comes after the loss, just before backward."
)


@lru_cache(maxsize=32)
def _treemap(spec: MemorySpec, event: int, levels: str, theme: Theme, selected: int, title: str) -> str:
    return memory_treemap(run(spec), event, levels, theme, selected=selected, title=title)


def draw_levels() -> str:
    """How the treemap is grouped."""
    common = common_arguments(GROUPED_BY, "Outer and inner rectangles of the treemap; its areas are bytes")
    return str(st.selectbox("treemap by", list(LEVELS), **common) or next(iter(LEVELS)))


def moment_or_last(trace: MemoryTrace, moment: Moment, step: int) -> tuple[int | None, str]:
    """(the event of a moment, "") or, where the step never got there, (the last event of the run, why)."""
    event = moment_event(trace, moment, step)
    if event is not None:
        return event, ""
    if not trace.events:
        return None, "The allocator gave out no memory in this run."
    return trace.events - 1, f"Step {step} has no moment *{moment}*: shown is the end of the run."


def draw_error(trace: MemoryTrace) -> None:
    """The error that PyTorch raised in the step, in its words."""
    if trace.error is not None:
        words = f"PyTorch raised **{trace.error.type}** in {trace.error.stage}: the run ends there"
        draw_said(words, PyTorchSaid(trace.error.type, trace.error.message))


@st.fragment
def draw_ledger(
    spec: MemorySpec,
    trace: MemoryTrace,
    event: int | None,
    told: str,
    levels: str,
    title: str,
    *,
    old: tuple[MemoryTrace, int] | None,
) -> None:
    """Picture, numbers, chosen block and tables of the moment `event`."""
    draw_error(trace)
    if told:
        st.caption(told)
    if event is None:
        return
    _draw_beside(spec, trace, event, old, title)
    alive = trace.blocks.alive_at(event).tolist()
    chosen = chosen_block(spec, trace, alive)
    draw_kept(spec, trace, event, chosen)
    show_picture(
        _treemap(spec, event, levels, shown_theme(), -1 if chosen is None else chosen, title),
        key=f"memory_ledger.picture.{sum_of(spec)}",
        label=title,
        name="memory-ledger",
        on_choose=lambda kind, number: choose_block(spec, number) if kind == "block" else None,
    )
    draw_key_numbers(key_numbers(trace, event), key_numbers(*old) if old is not None else None)
    draw_facts(trace, chosen)
    _draw_tabs(spec, trace, event, old)
    for note in trace.notes:
        st.caption(note)
    for warning in trace.warnings:
        st.code(warning, language=None, wrap_lines=True)


def _draw_beside(
    spec: MemorySpec, trace: MemoryTrace, event: int, old: tuple[MemoryTrace, int] | None, title: str
) -> None:
    """With A pinned: what differs from it, before what this run consists of."""
    if old is not None:
        show_picture(
            memory_beside(trace, event, *old, shown_theme(), title=f"{title}, beside A"),
            key=f"memory_ledger.beside.{sum_of(spec)}",
            label=f"{title}, beside A",
            name="memory-ledger-beside-a",
        )


def _draw_tabs(spec: MemorySpec, trace: MemoryTrace, event: int, old: tuple[MemoryTrace, int] | None) -> None:
    blocks, groups, explanation = st.tabs(TABS, key="memory_ledger.tab", on_change="rerun")
    if blocks.open:
        with blocks:
            draw_blocks(spec, event)
    if groups.open:
        with groups:
            draw_groups(trace, event, old)
    if explanation.open:
        with explanation:
            st.markdown(HOW_TO_READ)


def before_at(before: tuple[MemoryTrace, Moment, int] | None) -> tuple[MemoryTrace, int] | None:
    """A's trace and the event of the same moment in it."""
    if before is None:
        return None
    event = moment_or_last(*before)[0]
    return None if event is None else (before[0], event)
