"""A program as a timeline: a row per statement, a lane per version counter, and what happens where they cross."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.in_place.language import parse_program
from engine.in_place.results import ProgramRun, SavedSlot, Step

Ending = Literal["kept", "read", "stale", "overwritten"]


class Row(msgspec.Struct, frozen=True):
    """A statement: its line, text and modes, whether it ran, what PyTorch said, and whether it ran a backward."""

    line: int
    text: str
    modes: tuple[str, ...]
    ran: bool
    error: str
    is_backward: bool


class Named(msgspec.Struct, frozen=True):
    """From this row on a name stands for the lane's memory; `of` is the base of a view."""

    row: int
    name: str
    of: str


class Written(msgspec.Struct, frozen=True):
    """A call raised the counter."""

    row: int
    call: str
    name: str
    before: int
    after: int


class Kept(msgspec.Struct, frozen=True):
    """A node keeps this memory: from which row, until which, at which version, and what became of it.

    `changed` is the row after which it was stale or overwritten, -1 for never. `breaks` tells that the program's error,
    or wrong gradient, is about it.
    """

    node: str
    slots: tuple[str, ...]
    version: int
    first: int
    last: int
    changed: int
    ending: Ending
    breaks: bool


class Lane(msgspec.Struct, frozen=True):
    """One version counter in one storage; `versions` are (row, version) where it is first seen or has changed."""

    storage: int
    counter: int
    title: str
    nbytes: int
    born: int
    last: int
    names: tuple[Named, ...]
    versions: tuple[tuple[int, int | None], ...]
    writes: tuple[Written, ...]
    kept: tuple[Kept, ...]


class Timeline(msgspec.Struct, frozen=True):
    rows: tuple[Row, ...]
    lanes: tuple[Lane, ...]
    raised_in: str


def timeline(program: str, run: ProgramRun) -> Timeline:
    """Rows and lanes of a program that has run; statements after an error are rows that did not run."""
    steps = {step.line: step for step in run.steps}
    rows = tuple(_row(one.line, one.text, one.modes, steps.get(one.line)) for one in parse_program(program))
    found = {(state.storage, state.counter) for step in run.steps for state in step.tensors}
    found |= {(slot.storage, slot.counter) for step in run.steps for slot in step.saved if slot.storage >= 0}
    found |= {(_storage_of(run, bump.counter), bump.counter) for bump in run.bumps}
    lanes = tuple(_lane(run, storage, counter) for storage, counter in sorted(found))
    return Timeline(rows, lanes, run.raised_in)


def _row(line: int, text: str, modes: tuple[str, ...], step: Step | None) -> Row:
    error = "" if step is None or step.error is None else f"{step.error.type}: {step.error.message}"
    return Row(line, text, modes, step is not None, error, step is not None and step.is_backward)


def _storage_of(run: ProgramRun, counter: int) -> int:
    return next(place for place, storage in enumerate(run.storages) if counter in storage.counters)


def _lane(run: ProgramRun, storage: int, counter: int) -> Lane:
    names, versions, alive = _life(run, storage, counter)
    writes = tuple(
        Written(row, bump.call, bump.name, bump.before, bump.after)
        for row, step in enumerate(run.steps)
        for bump in step.bumps
        if bump.counter == counter and storage in _storages_then(run, counter)
    )
    kept = _kept(run, storage, counter)
    rows = [*alive, *(one.row for one in writes), *(row for one in kept for row in (one.first, one.last))]
    title = ", ".join(dict.fromkeys(one.name for one in names)) or _title(run, storage, counter)
    return Lane(
        storage=storage,
        counter=counter,
        title=title,
        nbytes=run.storages[storage].nbytes,
        born=min(rows, default=0),
        last=max(rows, default=0),
        names=names,
        versions=versions or tuple((one.row, one.after) for one in writes),
        writes=writes,
        kept=kept,
    )


def _title(run: ProgramRun, storage: int, counter: int) -> str:
    """A counter that no name reaches: of `x.data`, which lasted for one statement, or of a tensor without a name."""
    owner = run.storages[storage]
    if not owner.name:
        return "no name"
    return owner.name if owner.counters and owner.counters[0] == counter else f"{owner.name}.data"


def _storages_then(run: ProgramRun, counter: int) -> list[int]:
    """Where a counter is drawn: `x.data = y` moves it to other memory, and its writes go where it was last."""
    holding = [place for place, storage in enumerate(run.storages) if counter in storage.counters]
    return holding[-1:] if holding else []


def _life(
    run: ProgramRun, storage: int, counter: int
) -> tuple[tuple[Named, ...], tuple[tuple[int, int | None], ...], list[int]]:
    """Names as they come, versions as they change, and every row in which a name stands for it."""
    names: list[Named] = []
    versions: list[tuple[int, int | None]] = []
    alive: list[int] = []
    before: set[str] = set()
    for row, step in enumerate(run.steps):
        here = [state for state in step.tensors if (state.storage, state.counter) == (storage, counter)]
        names += [Named(row, state.name, state.base) for state in here if state.name not in before]
        before = {state.name for state in here}
        if here:
            alive.append(row)
            if not versions or versions[-1][1] != here[0].version:
                versions.append((row, here[0].version))
    return tuple(names), tuple(versions), alive


def _kept(run: ProgramRun, storage: int, counter: int) -> tuple[Kept, ...]:
    """What nodes keep of this memory, slots of one node together."""
    groups: dict[int, dict[str, list[tuple[int, SavedSlot]]]] = {}
    for row, step in enumerate(run.steps):
        for slot in step.saved:
            known = groups.get(slot.node, {})
            if (slot.storage, slot.counter) == (storage, counter) or (slot.storage < 0 and slot.slot in known):
                groups.setdefault(slot.node, {}).setdefault(slot.slot, []).append((row, slot))
    return tuple(_kept_by(run, node, slots) for node, slots in groups.items())


def _kept_by(run: ProgramRun, node: int, slots: dict[str, list[tuple[int, SavedSlot]]]) -> Kept:
    seen = [one for entries in slots.values() for one in entries]
    first = next(slot for _, slot in seen if slot.storage >= 0)
    changed = min((row for row, slot in seen if slot.state in ("stale", "overwritten")), default=-1)
    state = next((slot.state for row, slot in seen if row == changed), "")
    freed = min((row for row, slot in seen if slot.state == "freed"), default=-1)
    ending: Ending = "read" if freed >= 0 else "kept"
    if state in ("stale", "overwritten"):
        ending = "stale" if state == "stale" else "overwritten"
    culprits = {(one.node, one.slot) for one in run.culprits}
    return Kept(
        node=run.nodes[node].name,
        slots=tuple(slots),
        version=first.version_saved,
        first=min(row for row, _ in seen),
        last=freed if freed >= 0 else max(row for row, _ in seen),
        changed=changed,
        ending=ending,
        breaks=any((node, name) in culprits for name in slots),
    )
