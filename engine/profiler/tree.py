"""The tree of a profile walked once: operations with their table row, and where in it the allocator worked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from torch.profiler import profile

from engine.graph.columns import coded, column, optional_column
from engine.profiler.columns import Operations, Phase
from engine.recorded_profiler import Allocation, Event, event_or_allocation, event_tree, trace_start_ns

_PYTHON_LINE = re.compile(r"[^<>]+\.py\(\d+\): \S+")
_LIBRARY = ("torch/", "contextlib.py", "engine/profiler/", "engine/runner/")
ENGINE = "autograd::engine::evaluate_function: "
STEP = "Optimizer.step#"

RowOf = dict[tuple[int, int, str], int]
"""(id, ns since the profile began, name) of an event of `prof.events()` -> its row in `key_averages()`."""


@dataclass
class Walked:
    """Operations by number, and (number of the operation around it or None, allocation)."""

    rows: list[int] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    starts_ns: list[int] = field(default_factory=list)
    allocations: list[tuple[int | None, Allocation]] = field(default_factory=list)

    def add(self, event: Event, row: int, parent: int | None, start_ns: int) -> int:
        around: Phase = "forward" if parent is None else self.phases[parent]
        self.rows.append(row)
        self.parents.append(parent)
        self.events.append(event)
        self.phases.append(_phase(event, around))
        self.starts_ns.append(start_ns)
        return len(self.rows) - 1


def _phase(event: Event, around: Phase) -> Phase:
    """An operation inside backward has a sequence number only where gradients are on: a forward runs again."""
    if event.name.startswith(ENGINE):
        return "backward"
    if event.name.startswith(STEP):
        return "optimizer step"
    if around == "backward" and event.sequence_nr >= 0 and not event.is_backward:
        return "recompute"
    return around


def walk_tree(recorded: profile, row_of: RowOf) -> Walked:
    """Every operation that has a row, parents first; one that torch merged into its parent hands its children up."""
    walked, begin = Walked(), trace_start_ns(recorded)
    waiting: list[tuple[Any, int | None]] = [(handle, None) for handle in reversed(event_tree(recorded))]
    while waiting:
        handle, parent = waiting.pop()
        read = event_or_allocation(handle)
        if isinstance(read, Allocation):
            walked.allocations.append((parent, read))
        elif read is not None:
            start = read.start_ns - begin
            row = row_of.get((read.id, start, read.name))
            if row is not None:
                parent = walked.add(read, row, parent, start)
        waiting += [(child, parent) for child in reversed(handle.children)]
    walked.allocations.sort(key=lambda one: one[1].time_ns)
    return walked


def operation_columns(walked: Walked) -> Operations:
    """The operations as columns."""
    return Operations(
        row=column(walked.rows),
        parent=optional_column(walked.parents),
        start_ns=column([max(start, 0) for start in walked.starts_ns]),
        duration_ns=column([max(event.end_ns - event.start_ns, 0) for event in walked.events]),
        sequence_nr=optional_column([_number(event) for event in walked.events]),
        forward=optional_column(_forwards(walked)),
        phase=coded(walked.phases),
    )


def sources(walked: Walked) -> dict[int, str]:
    """By row, the Python call outside of torch that was innermost around most of its operations."""
    lines: list[str] = []
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for place, event in enumerate(walked.events):
        parent = walked.parents[place]
        own = _PYTHON_LINE.fullmatch(event.name) is not None and not event.name.startswith(_LIBRARY)
        lines.append(event.name if own else "" if parent is None else lines[parent])
        if lines[-1] and not own:
            counts[walked.rows[place]][lines[-1]] += 1
    return {row: found.most_common(1)[0][0] for row, found in counts.items()}


def _number(event: Event) -> int | None:
    return event.sequence_nr if 0 <= event.sequence_nr < 2**62 else None


def _forwards(walked: Walked) -> list[int | None]:
    """For each engine evaluation, the forward operation that recorded its node: the last one with its number."""
    made: dict[int, int] = {}
    for place, (event, phase) in enumerate(zip(walked.events, walked.phases, strict=True)):
        if phase in ("forward", "recompute") and (number := _number(event)) is not None and not event.is_backward:
            made[number] = place
    return [
        made.get(event.sequence_nr) if event.name.startswith(ENGINE) and event.sequence_nr >= 0 else None
        for event in walked.events
    ]
