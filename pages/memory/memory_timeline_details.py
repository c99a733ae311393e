"""Below the timeline: a moment against the one before, what held the peak, step by step, against A."""

from __future__ import annotations

from typing import Literal

import pandas as pd
import streamlit as st

from engine.figures.memory_words import category_words, phase_words
from engine.figures.units import MINUS, format_bytes, format_count
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import bytes_at, change, growth, peak_event, phase_at
from engine.memory.spec import MemoryTrace
from pages.memory.memory_ledger_blocks import COLUMNS, rows_table
from pages.memory.memory_timeline_numbers import peak_by_step

AGAINST = "memory_timeline.against"
CHOICES = ("the start of its phase", "the event before", "the start of its step")
LISTED = 12
ROW_HEIGHT = 35
BYTES = {"format": "localized"}


def event_before(trace: MemoryTrace, event: int, choice: str) -> int:
    """The moment that `event` is compared with; -1 is before the first event, where nothing is alive."""
    if choice == CHOICES[1]:
        return event - 1
    phase = phase_at(trace, event)
    if phase is None:
        return event - 1
    if choice == CHOICES[0]:
        return phase.first - 1
    return min(one.first for one in trace.phases if one.step == phase.step and one.after > one.first) - 1


def draw_moment(trace: MemoryTrace, look: str, event: int | None) -> None:
    """Bytes by category at the moment, their change since an earlier one, and what came and went between."""
    if event is None:
        st.caption("There is no moment to look at.")
        return
    choice = st.segmented_control(
        "against", CHOICES, default=CHOICES[0], required=True, key=AGAINST, label_visibility="collapsed"
    )
    before = event_before(trace, event, str(choice or CHOICES[0]))
    found = change(trace, before, event)
    sign = "+" if found.total_bytes > 0 else MINUS if found.total_bytes < 0 else "±"
    st.markdown(
        f"**{look}**: event {format_count(event)}, {phase_words(phase_at(trace, event))}; since {choice} "
        f"(event {format_count(before)}) **{sign}{format_bytes(abs(found.total_bytes))}**: blocks: "
        f"{format_count(len(found.came))} came, {format_count(len(found.went))} went."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        _draw_table(category_table(trace, before, event))
    with right:
        for words, blocks, at in (("came", found.came, event), ("went", found.went, before)):
            if blocks:
                st.caption(f"The largest that {words}, {min(len(blocks), LISTED)} of {format_count(len(blocks))}")
                _draw_table(rows_table(trace, blocks[:LISTED], at)[["name", "bytes", "category", "operation"]], 250)


def category_table(trace: MemoryTrace, before: int, event: int) -> pd.DataFrame:
    """One row per category that is there at either moment."""
    old, new = bytes_at(trace, before), bytes_at(trace, event)
    names = [name for name in CATEGORIES if old[name] or new[name]]
    return pd.DataFrame(
        {
            "category": [category_words(name) for name in names],
            "before, bytes": [old[name] for name in names],
            "now, bytes": [new[name] for name in names],
            "change, bytes": [new[name] - old[name] for name in names],
        }
    )


def draw_peak(trace: MemoryTrace) -> None:
    """The largest blocks alive at the peak of the run."""
    peak = peak_event(trace)
    if peak is None:
        st.caption("There is no peak.")
        return
    alive = trace.blocks.alive_at(peak).tolist()
    st.caption(
        f"The {min(len(alive), 100)} largest of {format_count(len(alive))} blocks at event {format_count(peak)}."
    )
    _draw_table(rows_table(trace, alive, peak).head(100), 430)


def draw_steps(trace: MemoryTrace) -> None:
    """Peak and end of every step, and what the step left behind."""
    steps = step_table(trace)
    if not len(steps):
        st.caption("No step ended.")
        return
    _draw_table(steps)
    st.caption(
        "The first step leaves the optimizer's state, where it has any. What later steps add stays: a loop that keeps "
        "nothing adds 0."
    )


def step_table(trace: MemoryTrace) -> pd.DataFrame:
    """One row per step: its peak and phase, live bytes at its end, bytes added by category."""
    peaks = {step: (size, phase) for step, size, phase in peak_by_step(trace)}
    found = growth(trace)
    names = [name for name in CATEGORIES if any(one.more.get(name) for one in found)]
    table: dict[str, list[object]] = {
        "step": [one.step for one in found],
        "peak, bytes": [peaks[one.step][0] for one in found],
        "peak in": [peaks[one.step][1] for one in found],
        "live at its end, bytes": [one.live_bytes for one in found],
        "added, bytes": [sum(one.more.values()) for one in found],
    }
    return pd.DataFrame(
        table | {f"{category_words(name)} added, bytes": [one.more.get(name, 0) for one in found] for name in names}
    )


def against_table(trace: MemoryTrace, before: MemoryTrace) -> pd.DataFrame:
    """The two peaks by category; the last row is their sum."""
    a, b = (bytes_at(one, peak) if (peak := peak_event(one)) is not None else {} for one in (before, trace))
    names = [name for name in CATEGORIES if a.get(name) or b.get(name)]
    old, new = [a.get(name, 0) for name in names], [b.get(name, 0) for name in names]
    return pd.DataFrame(
        {
            "at the peak": [*(category_words(name) for name in names), "all"],
            "A, bytes": [*old, sum(old)],
            "this run, bytes": [*new, sum(new)],
            "difference, bytes": [*(n - o for n, o in zip(new, old, strict=True)), sum(new) - sum(old)],
        }
    )


def draw_against(trace: MemoryTrace, before: MemoryTrace | None) -> None:
    """The two peaks side by side."""
    if before is None:
        st.caption("Pin a run as A and change a toggle, checkpoint for example: both peaks are then compared here.")
        return
    _draw_table(against_table(trace, before))
    where = [phase_words(phase_at(one, peak)) for one in (before, trace) if (peak := peak_event(one)) is not None]
    if len(where) == 2:
        st.caption(f"A's peak is in {where[0]}, this run's in {where[1]}.")


def _draw_table(table: pd.DataFrame, most: int = 430) -> None:
    numbers = [name for name in table.columns if table[name].dtype.kind == "i" and name != "step"]
    formats = {name: st.column_config.NumberColumn(name, format="localized") for name in numbers}
    height: int | Literal["content"] = "content" if ROW_HEIGHT * (len(table) + 1) < most else most
    st.dataframe(table, hide_index=True, width="stretch", height=height, column_config=COLUMNS | formats)
