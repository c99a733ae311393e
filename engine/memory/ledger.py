"""What a memory trace says of its moments: when they are, what was alive then, what came and went between two."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from engine.memory.blocks import CATEGORIES, Blocks, Category
from engine.memory.spec import MemoryTrace, Phase, PhaseName

Integers = npt.NDArray[np.int64]
Moment = Literal["after forward", "the peak", "after backward", "after the optimizer step", "end of step"]
MOMENTS: tuple[Moment, ...] = Moment.__args__  # type: ignore[attr-defined]
ENDS: dict[Moment, tuple[PhaseName, ...]] = {
    "after forward": ("forward", "loss"),
    "after backward": ("backward",),
    "after the optimizer step": ("optimizer step",),
    "end of step": ("end of step",),
}
"""The phases with whose last event a moment comes; after forward there is the loss too, and backward has not begun."""
Grouping = Literal["category", "module", "operation", "source line"]
GROUPINGS: tuple[Grouping, ...] = Grouping.__args__  # type: ignore[attr-defined]
NO_MODULE, NO_OPERATION, NO_LINE = "(outside of modules)", "(no operation seen)", "(no line of Python seen)"


class Change(msgspec.Struct, frozen=True):
    """What came and went between two moments: bytes by category, and the blocks, largest first."""

    bytes: dict[Category, int]
    came: tuple[int, ...]
    went: tuple[int, ...]

    @property
    def total_bytes(self) -> int:
        return sum(self.bytes.values())


class Growth(msgspec.Struct, frozen=True):
    """The end of a step: live bytes, and by category how many more than at the end of the step before."""

    step: int
    event: int
    live_bytes: int
    more: dict[Category, int]


def last_step(trace: MemoryTrace) -> int:
    """Number of the last step that began; 0 when none did."""
    return max((phase.step for phase in trace.phases), default=0)


def phase_at(trace: MemoryTrace, event: int) -> Phase | None:
    """The innermost phase that holds `event`: a recomputation before the backward around it."""
    holding = [phase for phase in trace.phases if phase.first <= event < phase.after]
    return min(holding, key=lambda phase: phase.after - phase.first, default=None)


def phase_numbers(trace: MemoryTrace) -> Integers:
    """(events,): place in `trace.phases` of the innermost phase of every event, -1 between two phases."""
    found = np.full(trace.events, -1, dtype=np.int64)
    for number in sorted(range(len(trace.phases)), key=lambda n: trace.phases[n].first - trace.phases[n].after):
        found[trace.phases[number].first : trace.phases[number].after] = number
    return found


def stretch(trace: MemoryTrace, step: int | None) -> tuple[int, int]:
    """(first event, event after the last) of a step, of the whole run for None or a step that had no event."""
    phases = [phase for phase in trace.phases if phase.step == step and phase.after > phase.first]
    if not phases:
        return 0, trace.events
    return min(phase.first for phase in phases), max(phase.after for phase in phases)


def live_totals(trace: MemoryTrace) -> Integers:
    """(events,): bytes of all blocks alive after each event."""
    total: Integers = trace.blocks.live_bytes(trace.events).sum(axis=0)
    return total


def peak_event(trace: MemoryTrace, step: int | None = None) -> int | None:
    """The first event after which most bytes were alive, in a step or in the whole run; None in a run without any."""
    first, after = stretch(trace, step)
    if after <= first:
        return None
    return first + int(live_totals(trace)[first:after].argmax())


def moment_event(trace: MemoryTrace, moment: Moment, step: int) -> int | None:
    """The event that a moment of a step comes with; None where the step never got there."""
    if moment == "the peak":
        return peak_event(trace, step) if any(phase.step == step for phase in trace.phases) else None
    ends = [phase.after for phase in trace.phases if phase.step == step and phase.name in ENDS[moment]]
    return max(ends) - 1 if ends and max(ends) > 0 else None


def bytes_at(trace: MemoryTrace, event: int) -> dict[Category, int]:
    """Live bytes after `event` by category, every category named."""
    blocks = trace.blocks
    alive = blocks.alive_at(event)
    sums = np.zeros(len(CATEGORIES), np.int64)
    np.add.at(sums, blocks.categories_at(event)[alive], blocks.sizes[alive])
    return dict(zip(CATEGORIES, sums.tolist(), strict=True))


def change(trace: MemoryTrace, before: int, after: int) -> Change:
    """From the moment `before` to the moment `after`; a block that was born and died in between is in neither."""
    blocks = trace.blocks
    earlier, later = set(blocks.alive_at(before).tolist()), set(blocks.alive_at(after).tolist())
    old, new = bytes_at(trace, before), bytes_at(trace, after)
    return Change(
        {category: new[category] - old[category] for category in CATEGORIES if new[category] != old[category]},
        _largest_first(blocks, later - earlier),
        _largest_first(blocks, earlier - later),
    )


def _largest_first(blocks: Blocks, found: set[int]) -> tuple[int, ...]:
    return tuple(sorted(found, key=lambda index: (-int(blocks.sizes[index]), index)))


def growth(trace: MemoryTrace) -> tuple[Growth, ...]:
    """Every step's end against the end of the step before; the first against the end of building."""
    built = [phase.after for phase in trace.phases if phase.step == 0]
    before = max(built, default=0) - 1
    found = []
    for step in range(1, last_step(trace) + 1):
        event = stretch(trace, step)[1] - 1
        if event < 0:
            continue
        more = change(trace, before, event).bytes
        found.append(Growth(step, event, sum(bytes_at(trace, event).values()), more))
        before = event
    return tuple(found)


def group_labels(blocks: Blocks, event: int, grouping: Grouping) -> list[str]:
    """The name of the group that each block is in after `event`."""
    if grouping == "category":
        return [CATEGORIES[place] for place in blocks.categories_at(event).tolist()]
    if grouping == "module":
        return [name or NO_MODULE for name in blocks.module.values()]
    if grouping == "operation":
        return [name or NO_OPERATION for name in blocks.operation.values()]
    return [NO_LINE if one is None else f"{one.file}:{one.line} {one.text}" for one in blocks.source.values()]


def bytes_by(trace: MemoryTrace, event: int, grouping: Grouping) -> dict[str, int]:
    """Live bytes after `event` by group, most first."""
    labels = group_labels(trace.blocks, event, grouping)
    found: dict[str, int] = {}
    for index in trace.blocks.alive_at(event).tolist():
        found[labels[index]] = found.get(labels[index], 0) + int(trace.blocks.sizes[index])
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def telling_events(live: Integers, first: int, after: int, columns: int) -> Integers:
    """Events to draw of first..after-1 in `columns` columns: all of them where few, else every column's extremes.

    `live` is (rows, events). Of each column stay its first and last event and, for every row and for the sum, the first
    smallest and the first largest: no peak and no valley of any row is lost.
    """
    if after - first <= 2 * columns:
        return np.arange(first, max(after, first), dtype=np.int64)
    rows = np.vstack([live, live.sum(axis=0, keepdims=True)])
    edges = np.unique(np.linspace(first, after, columns + 1).astype(np.int64))
    kept = [edges[:-1], edges[1:] - 1]
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = rows[:, start:end]
        kept += [start + part.argmin(axis=1), start + part.argmax(axis=1)]
    return np.unique(np.concatenate(kept)).astype(np.int64)
