"""From operations with their paths: what Python called, what autocast did to it, and whose each cast is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.mixed_precision.lists import known_operators, policy_of
from engine.mixed_precision.recorder import Event, Seen
from engine.mixed_precision.results import Call, Cast, CastBy, TensorKind

CASTING = ("aten::to", "aten::_to_copy", "aten::type_as")
Leaves = Mapping[int, tuple[str, TensorKind]]
"""Identity of a storage -> name and kind of the weight, buffer or input it belongs to."""


@dataclass(frozen=True)
class Attributed:
    """Calls in order, the call of every operation (-1 for none), and who asked for every cast ("" for no cast)."""

    calls: tuple[Call, ...]
    call_of: tuple[int, ...]
    cast_by: tuple[CastBy | str, ...]


def attribute(seen: Sequence[Seen], device: str, dtype: str) -> Attributed:
    """Who asked for what; `seen` of a run under autocast, or of a plain one, which has no call that autocast knows."""
    known = known_operators(device)
    numbers: dict[int, int] = {}
    events: list[tuple[Event, list[Seen]]] = []
    call_of = []
    for one in seen:
        event = _call_event(one, known)
        if event is None:
            call_of.append(-1)
            continue
        number = numbers.setdefault(id(event), len(events))
        if number == len(events):
            events.append((event, []))
        events[number][1].append(one)
        call_of.append(number)
    cast_by = _cast_by(seen, known)
    casts = [sum(cast_by[one.number] == "autocast" for one in members) for _, members in events]
    calls = tuple(
        _call(number, event, members, casts[number], device, dtype) for number, (event, members) in enumerate(events)
    )
    return Attributed(calls, tuple(call_of), cast_by)


def _call_event(one: Seen, known: frozenset[str]) -> Event | None:
    """The outermost call that autocast knows, else what Python called; in backward only what it recomputes."""
    if not one.path:
        return None
    found = next((event for event in one.path if event.name in known and _inner(event)), None)
    if found is None:
        found = next((event for event in one.path if event.name in known), one.path[0])
    return None if one.phase == "backward" and not _inner(found) else found


def _inner(event: Event) -> Event | None:
    """The same operator called again from inside: how an autocast kernel goes on after its casts."""
    return next((child for child in event.children if child.name == event.name), None)


def _call(number: int, event: Event, members: list[Seen], casts: int, device: str, dtype: str) -> Call:
    inner = _inner(event)
    last = members[-1]
    return Call(
        number=number,
        name=event.name,
        module=members[0].module,
        phase=members[0].phase,
        policy=policy_of(event.name, device, dtype),
        came_in=event.dtypes,
        ran_in=inner.dtypes if inner is not None else event.dtypes,
        outputs=last.outputs,
        casts=casts,
    )


def _cast_by(seen: Sequence[Seen], known: frozenset[str]) -> tuple[CastBy | str, ...]:
    found: list[CastBy | str] = []
    nodes: set[int] = set()
    for one in seen:
        by = _who(one, known, nodes)
        found.append(by)
        if by == "autocast":
            # The node of this cast was made just before its kernel was called, by a recomputation in backward too.
            nodes.add(one.next_number - 1)
    return tuple(found)


def _who(one: Seen, known: frozenset[str], nodes: set[int]) -> CastBy | str:
    if not one.is_cast or one.inputs == one.outputs:
        return ""
    if _asked_by_autocast(one.path, known):
        return "autocast"
    if one.node:
        undoes = one.node.startswith("ToCopyBackward") and one.node_number in nodes
        return "backward of autocast" if undoes else "backward"
    return "the model" if one.path and one.path[0].name in CASTING else "an operator inside"


def _asked_by_autocast(path: tuple[Event, ...], known: frozenset[str]) -> bool:
    """A cast that a known operator makes itself, before it calls itself again with the result."""
    for event, child in pairwise(path):
        if event.name in known and child.name in CASTING and _inner(event) is not None:
            return True
    return False


def casts_in(seen: Sequence[Seen], found: Attributed, leaves: Leaves) -> tuple[Cast, ...]:
    """Every cast, with the tensor it copied by name."""
    makers: dict[int, Seen] = {}
    rows = []
    for one in seen:
        by = found.cast_by[one.number]
        if by:
            rows.append(_cast(one, by, found, leaves, makers))
        for key in one.output_storages:
            if not one.is_view:
                makers[key] = one
    return tuple(rows)


def _cast(one: Seen, by: CastBy | str, found: Attributed, leaves: Leaves, makers: Mapping[int, Seen]) -> Cast:
    name, kind = source_of(one, found, leaves, makers)
    number = found.call_of[one.number]
    return Cast(
        operation=one.number,
        phase=one.phase,
        by=by,  # type: ignore[arg-type]
        source=one.inputs[0] if one.inputs else "",
        target=one.outputs[0] if one.outputs else "",
        bytes=one.output_bytes,
        kind=kind,
        tensor=name,
        module=one.module,
        call=found.calls[number].name if number >= 0 else one.node,
    )


def source_of(one: Seen, found: Attributed, leaves: Leaves, makers: Mapping[int, Seen]) -> tuple[str, TensorKind]:
    """Name and kind of the tensor that a cast copied."""
    key = one.input_storages[0] if one.input_storages else None
    if key is not None and key in leaves:
        return leaves[key]
    maker = makers.get(key) if key is not None else None
    if maker is None:
        return "", "gradient" if one.node else "activation"
    number = found.call_of[maker.number]
    by = found.calls[number].name if number >= 0 else maker.node or maker.name
    name = f"output of {by}" + (f" in {maker.module}" if maker.module else "")
    return name, "gradient" if maker.node and one.path[0:1] != maker.path[0:1] else "activation"


def weight_uses(seen: Sequence[Seen], found: Attributed, leaves: Leaves) -> dict[str, tuple[int, int]]:
    """Weight -> (calls of the forward that read a cast copy of it, casts of it)."""
    copies: dict[int, str] = {}
    casts: dict[str, int] = {}
    uses: dict[str, set[int]] = {}
    for one in seen:
        if one.node:
            continue
        if found.cast_by[one.number] == "autocast":
            name, kind = leaves.get(one.input_storages[0], ("", "activation")) if one.input_storages else ("", "")
            if kind == "weight":
                casts[name] = casts.get(name, 0) + 1
                copies.update(dict.fromkeys(one.output_storages, name))
        else:
            for name in {copies[key] for key in one.input_storages if key in copies}:
                uses.setdefault(name, set()).add(found.call_of[one.number])
    return {name: (len(uses.get(name, ())), count) for name, count in casts.items()}
