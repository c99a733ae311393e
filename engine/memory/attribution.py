"""From the events of a profile and the looks taken meanwhile to a trace of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.graph.recording import NOWHERE, Place
from engine.memory.blocks import PRECEDENCE, Category, Held, pack_blocks
from engine.memory.events import LOOK, PHASE, Event, Events
from engine.memory.looks import Freed, Look, Sighting
from engine.memory.phases import PhaseMark, phases_of, reruns_of
from engine.memory.places import MarkPlaces
from engine.memory.spec import MemoryTrace
from engine.runner.contract import Array

EARLIER = "allocated before the recording"
_RANK = {category: rank for rank, category in enumerate(PRECEDENCE)}


@dataclass(slots=True)
class _Block:
    """A block while the events are read."""

    bytes: int
    born: int
    event: Event | None
    died: int = -1
    category: Category = "temporary"
    name: str = ""
    seen: tuple[tuple[int, ...] | None, str] | None = None
    module: str | None = None
    is_result: bool = False
    """Named after the node that made it, rather than after one that read it."""
    holders: dict[str, None] = field(default_factory=dict)
    is_saved: bool = False
    """Some node had it saved when the graphs were last looked at."""
    released: int = -1
    afterwards: Category | None = None

    def note(self, one: Sighting) -> None:
        self.holders[one.holder] = None
        if one.category is None:
            return
        if one.category == "saved":
            self.is_saved, self.released, self.afterwards = True, -1, None
        elif one.category == "output" and self.released >= 0:
            self.afterwards = "output"
        better = _RANK[one.category] < _RANK[self.category]
        if better or (one.category == self.category == "saved" and _is_result(one) and not self.is_result):
            self.is_result = _is_result(one)
            self.category, self.name, self.module = one.category, one.holder, one.module
            self.seen = one.shape, one.dtype


def _is_result(one: Sighting) -> bool:
    return one.holder.rpartition(".")[2].startswith("result")


class _Reading:
    """Blocks in order of birth, as the events come."""

    def __init__(self, looks: list[Look]) -> None:
        self.blocks: list[_Block] = []
        self.alive: dict[int, _Block] = {}
        self.events: list[Event] = []
        self.phase_starts: dict[int, int] = {}
        self.uncounted = 0
        """Bytes of the allocator's figure that earlier profiles left in it; not part of the trace."""
        self._looks = looks

    def read(self, event: Event) -> None:
        if event.mark.startswith(LOOK):
            self._look(self._looks[int(event.mark.removeprefix(LOOK))])
        elif event.mark.startswith(PHASE):
            self.phase_starts[int(event.mark.removeprefix(PHASE))] = len(self.events)
        elif not event.mark:
            self._allocate(event) if event.size > 0 else self._free(event)
            self.events.append(event)

    def _allocate(self, event: Event) -> None:
        block = _Block(event.size, len(self.events), event)
        self.blocks.append(block)
        self.alive[event.address] = block

    def _free(self, event: Event) -> None:
        block = self.alive.pop(event.address, None)
        if block is None:
            block = _Block(-event.size, 0, None, name=EARLIER)
            self.blocks.append(block)
        block.died = len(self.events)

    def _look(self, look: Look) -> None:
        if look.freed is not None:
            self._release(look, look.freed)
        for one in look:
            if (block := self.alive.get(one.address)) is not None:
                block.note(one)

    def _release(self, look: Look, freed: Freed) -> None:
        """Blocks that no node looked at has saved any more count otherwise from the last event on."""
        still = {one.address for one in look if one.category == "saved"}
        for address in self.alive.keys() - still if freed == "all" else freed - still:
            block = self.alive.get(address)
            if block is not None and block.is_saved:
                block.is_saved, block.released = False, max(len(self.events) - 1, block.born)
                block.afterwards = "temporary"


def trace_of(
    found: Events,
    looks: list[Look],
    marks: list[PhaseMark],
    marked: MarkPlaces,
    device: str,
) -> MemoryTrace:
    """The trace: blocks attributed, phases, and how far their sum is from the allocator's own figure."""
    reading = _Reading(looks)
    for event in found.events:
        reading.read(event)
    uncounted = _earlier_bytes(reading)
    if device == "cpu":  # what an earlier profile counted may long be gone: a CPU counts only while one runs
        reading.uncounted, uncounted = uncounted, 0
    if uncounted:
        reading.blocks.append(_Block(uncounted, 0, None, name=EARLIER))
    reruns = reruns_of(reading.events)
    _mark_recomputed(reading, reruns)
    reading.blocks.sort(key=lambda block: block.born)
    blocks = pack_blocks([_held(block, found, marked) for block in reading.blocks])
    totals = np.array([event.total for event in reading.events], dtype=np.int64) - reading.uncounted
    difference = blocks.live_bytes(len(totals)).sum(axis=0) - totals
    return MemoryTrace(
        blocks=blocks,
        event_s=_seconds(reading.events),
        allocator_bytes=Array("int64", totals.shape, totals.astype("<i8").tobytes()),
        phases=phases_of(marks, reading.phase_starts, reading.events, reruns),
        largest_difference_bytes=int(np.abs(difference).max(initial=0)),
        notes=_notes(reading, found, device),
    )


def _seconds(events: list[Event]) -> Array:
    times = np.array([event.time_ns for event in events], dtype=np.int64)
    seconds = (times - times[:1]) * 1e-9
    return Array("float64", seconds.shape, seconds.astype("<f8").tobytes())


def _earlier_bytes(reading: _Reading) -> int:
    """What the allocator counted before the first event and has not freed since."""
    if not reading.events:
        return 0
    before = reading.events[0].total - reading.events[0].size
    return before - sum(block.bytes for block in reading.blocks if block.event is None)


def _mark_recomputed(reading: _Reading, reruns: list[tuple[int, int]]) -> None:
    """What a forward run again has brought back is what is alive when it ends."""
    born = {block.born: block for block in reading.blocks if block.event is not None}
    for first, after in reruns:
        for event in range(first, after):
            block = born.get(event)
            brought_back = block is not None and (block.died < 0 or block.died >= after)
            if block is not None and brought_back and _RANK[block.category] > _RANK["recomputed"]:
                block.category, block.name, block.module = "recomputed", "", None


def _held(block: _Block, found: Events, marked: MarkPlaces) -> Held:
    event = block.event
    module, source = NOWHERE if event is None else _place_of(event, marked)
    operation = "" if event is None else event.under.operation
    shape, dtype = block.seen or (found.seen.get(event.allocation_id) if event else None) or (None, "")
    return Held(
        block.bytes,
        block.born,
        block.died,
        block.category,
        block.name or operation,
        shape,
        dtype,
        module if block.module is None else block.module,
        operation,
        source,
        tuple(block.holders),
        *((block.afterwards, block.released) if block.category == "saved" else (None, -1)),
    )


def _place_of(event: Event, marked: MarkPlaces) -> Place:
    under = event.under
    if under.place >= 0:
        return marked.places[under.place]
    return marked.recording.place_of(under.sequence_nr) if under.sequence_nr >= 0 else NOWHERE


def _notes(reading: _Reading, found: Events, device: str) -> tuple[str, ...]:
    earlier = sum(block.bytes for block in reading.blocks if block.event is None)
    notes = [
        f"{size} bytes were allocated on {other}: not part of this trace" for other, size in found.elsewhere.items()
    ]
    if not reading.events:
        notes.append(f"the profiler reported no allocation on {device}: its allocator tells it of none, or nothing ran")
    if earlier:
        notes.append(f"{earlier} bytes that the allocator counts were allocated before the recording began")
    if reading.uncounted:
        notes.append(f"{reading.uncounted} bytes of earlier profiles are left out of the allocator's figure")
    return tuple(notes)
