"""Which events belong to which phase, and where backward runs a forward again."""

from __future__ import annotations

from typing import NamedTuple

from engine.memory.events import Event
from engine.memory.spec import Phase, PhaseName


class PhaseMark(NamedTuple):
    """A phase that began where the mark of its number stands, and lasted to the next one."""

    name: PhaseName
    step: int


def phases_of(
    marks: list[PhaseMark], starts: dict[int, int], events: list[Event], reruns: list[tuple[int, int]]
) -> tuple[Phase, ...]:
    """The phases in order; a recomputation follows the backward it lies in."""
    phases: list[Phase] = []
    for number, mark in enumerate(marks):
        first = starts.get(number, len(events))
        after = starts.get(number + 1, len(events))
        if phases and (phases[-1].name, phases[-1].step, phases[-1].after) == (*mark, first):
            first = phases.pop().first
        if first == after and (mark in marks[number + 1 :] or any((one.name, one.step) == mark for one in phases)):
            continue  # it came back, or comes again
        phases.append(Phase(mark.name, mark.step, first, after))
        if mark.name == "backward":
            phases += [Phase("recompute", mark.step, *one) for one in reruns if first <= one[0] < after]
    return tuple(phases)


def reruns_of(events: list[Event]) -> list[tuple[int, int]]:
    """(first, after) of every stretch of events in which a running node runs a forward again.

    From the first to the last operation below one node that records nodes of its own, and what is around them.
    """
    spans: dict[int, tuple[int, int]] = {}
    for number, event in enumerate(events):
        if event.under.reruns:
            first, _ = spans.get(event.under.node, (number, 0))
            spans[event.under.node] = first, number + 1
    return [_widened(events, first, after) for first, after in spans.values()]


def _widened(events: list[Event], first: int, after: int) -> tuple[int, int]:
    """The same with what the checkpoint does around it outside of operations: random number state, locals let go."""
    under = events[first].under
    own: set[int] = set()
    while first and _is_direct(before := events[first - 1], under.node) and before.size > 0:
        first -= 1
        own.add(before.address)
    end = last = after
    while end < len(events) and _is_direct(events[end], under.node) and events[end].size < 0:
        end += 1
        last = end if events[end - 1].address in own else last
    return first, end if under.reentrant else last


def _is_direct(event: Event, node: int) -> bool:
    return event.under.direct and event.under.node == node
