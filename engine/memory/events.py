"""Every allocation and free of a finished profile, in order, and under what it happened."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine import recorded, recorded_memory
from engine.graph.texts import NAMES
from engine.shapes import plain_shape

MARK = "atlas "
PLACE, PHASE, LOOK = f"{MARK}place ", f"{MARK}phase ", f"{MARK}look "
"""Names of the marks a recording leaves between operations, each followed by a number."""
RERUN = f"{MARK}rerun"
"""Name of the mark around a forward that a non-reentrant checkpoint runs again."""

REORDERED = 16
"""Events looked ahead for the one that the allocator counted next."""

_EVALUATE = "autograd::engine::evaluate_function: "
_FACTORIES = frozenset(
    f"aten::{name}"
    for name in ("empty", "empty_like", "empty_strided", "empty_quantized", "new_empty", "new_empty_strided", "resize_")
)

Described = tuple[tuple[int, ...] | None, str]
"""Shape and dtype."""


class Under(NamedTuple):
    """Where in the tree an event stands: by names and numbers, shared by all events that stand there."""

    operation: str = ""
    place: int = -1
    """Number of the place whose mark is around it; -1 where there is none."""
    sequence_nr: int = -1
    """Number of the forward operation whose node runs backward here."""
    node: int = -1
    """Number of the running node's own event, to tell nodes apart."""
    reruns: bool = False
    """An operation that records autograd nodes in a forward that a checkpoint runs again."""
    direct: bool = True
    """No operation below the running node."""
    reentrant: bool = False
    """The running node is a reentrant checkpoint."""
    in_checkpoint: bool = False
    """Within RERUN."""


NOTHING = Under()


class Event(NamedTuple):
    """One allocation (size > 0) or free (size < 0) of one device, or a mark (size 0)."""

    time_ns: int
    address: int
    size: int
    total: int
    allocation_id: int
    under: Under
    mark: str = ""


class Events(NamedTuple):
    """All events of a profile by time, and shape and dtype of tensors seen in the blocks by allocation id."""

    events: list[Event]
    seen: dict[int, Described]
    elsewhere: dict[str, int]
    """Bytes allocated on other devices than the one asked for."""


def read_events(profile: Any, device: str) -> Events:
    """Walk the event trees of a finished `torch.profiler.profile(profile_memory=True, record_shapes=True)`."""
    found = Events([], {}, {})
    waiting = [(event, NOTHING) for event in reversed(recorded.read_event_trees(profile.profiler.kineto_results))]
    while waiting:
        event, under = waiting.pop()
        fields = event.extra_fields  # a copy with every input, and it tells the kind of event faster than `tag`
        if type(fields) is recorded_memory.Allocated:
            _add_allocation(found, event, fields, under, device)
            continue
        if type(fields) is recorded_memory.Operated:
            under = _below(found, event, fields, under)
        if children := event.children:
            waiting += [(child, under) for child in reversed(children)]
    found.events.sort(key=lambda one: one.time_ns)
    put_in_the_allocators_order(found.events)
    return found


def put_in_the_allocators_order(events: list[Event]) -> None:
    """Threads note the time after the allocator counted: where totals do not follow, a later event belongs before."""
    total: int | None = None
    for number, event in enumerate(events):
        if event.mark:
            continue
        if total is not None and event.total != total + event.size:
            ahead = range(number + 1, min(number + REORDERED, len(events)))
            fits = [at for at in ahead if not events[at].mark and events[at].total == total + events[at].size]
            if fits:
                events.insert(number, event := events.pop(fits[0]))
        total = event.total


def _add_allocation(found: Events, event: Any, fields: Any, under: Under, device: str) -> None:
    address, size, total, number, on = recorded_memory.read_allocation(fields)
    if (name := NAMES[on]) != device:
        found.elsewhere[name] = found.elsewhere.get(name, 0) + max(0, size)
        return
    found.events.append(Event(event.start_time_ns, address, size, total, -1 if number is None else number, under))


def _below(found: Events, event: Any, fields: Any, under: Under) -> Under:
    """What the children of an operation stand under."""
    name: str = event.name
    if name.startswith(MARK):
        return _below_mark(found, event, name, under)
    sequence_nr = fields.sequence_number
    if name.startswith(_EVALUATE):
        node = name[len(_EVALUATE) :]
        return Under(node, -1, sequence_nr, event.id, reentrant=node == "CheckpointFunctionBackward")
    if name.startswith("Optimizer."):
        return under._replace(operation=name)
    if under.direct and fields.scope == recorded_memory.BACKWARD:  # a node's own event has no operation around it
        return under
    _note_shapes(found.seen, fields.inputs)
    operation = under.operation if name in _FACTORIES and _is_operation(under) else name
    reruns = under.reruns or ((under.in_checkpoint or under.reentrant) and sequence_nr >= 0)
    return Under(  # once per operation; `_replace` takes three times as long
        operation, under.place, under.sequence_nr, under.node, reruns, False, under.reentrant, under.in_checkpoint
    )


def _below_mark(found: Events, event: Any, name: str, under: Under) -> Under:
    """What stands under one of our own marks; looks and phases are events themselves."""
    if name.startswith(PLACE):
        return under._replace(place=int(name[len(PLACE) :]))
    if name == RERUN:
        return under._replace(in_checkpoint=True)
    found.events.append(Event(event.start_time_ns, 0, 0, 0, -1, under, name))
    return under


def _is_operation(under: Under) -> bool:
    return under.operation.startswith("aten::") or not under.direct


def _note_shapes(seen: dict[int, Described], inputs: Any) -> None:
    for one in inputs:
        if isinstance(one, list):
            _note_shapes(seen, one)
        elif isinstance(one, recorded_memory.TensorSeen):
            number = one.allocation_id
            if number is not None and number not in seen:
                seen[number] = plain_shape(one.sizes), NAMES[one.dtype]
