"""What differs between two corresponding nodes, in words."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.fold import operation_name
from engine.figures.units import format_bytes, format_shape, shorten
from engine.graph.spec import Attribute, Node, Saved, TensorMetadata

LISTED = 10
"""Differences of one node that are spelled out."""
TO = " → "


def node_changes(a: Node, b: Node) -> tuple[str, ...]:
    """ "saved 16.0 KiB → 8.00 KiB", "float32 → bfloat16", "mat1: kept → dropped by checkpoint"; () for equals.

    Numbers that only count within one run (sequence numbers, storages, which intermediate) are no difference.
    """
    if a.inputs == b.inputs and a.attributes == b.attributes and a.name == b.name and _same_slots(a.saved, b.saved):
        return ()
    words = [*_outputs(a.inputs, b.inputs), *_saved(a.saved, b.saved)]
    words += _attributes(a.attributes, b.attributes)
    words += [f"{shorten(a.name, 40)}{TO}{shorten(b.name, 40)}"] if a.name != b.name else []
    more = len(words) - LISTED
    return tuple(words[:LISTED]) + ((f"and {more} more differences",) if more > 0 else ())


def _same_slots(a: Sequence[Saved], b: Sequence[Saved]) -> bool:
    return len(a) == len(b) and all(map(_same_slot, a, b))


def _same_slot(a: Saved, b: Saved) -> bool:
    return (
        a.name == b.name
        and a.shape == b.shape
        and a.dtype == b.dtype
        and a.stride == b.stride
        and a.device == b.device
        and a.dropped == b.dropped
        and a.unavailable == b.unavailable
        and a.storage_bytes == b.storage_bytes
        and _owner(a) == _owner(b)
        and _writes(a) == _writes(b)
    )


def _outputs(a: Sequence[TensorMetadata], b: Sequence[TensorMetadata]) -> list[str]:
    if len(a) != len(b):
        return [f"{len(a)} outputs{TO}{len(b)}"]
    words: list[str] = []
    for before, after in zip(a, b, strict=True):
        if before.dtype != after.dtype:
            words.append(f"{before.dtype}{TO}{after.dtype}")
        if before.shape != after.shape:
            words.append(f"shape {format_shape(before.shape)}{TO}{format_shape(after.shape)}")
        if before.device != after.device:
            words.append(f"{before.device}{TO}{after.device}")
    return list(dict.fromkeys(words))


def _saved(a: Sequence[Saved], b: Sequence[Saved]) -> list[str]:
    size_a, size_b = _held(a), _held(b)
    words = [f"saved {format_bytes(size_a)}{TO}{format_bytes(size_b)}"] if size_a != size_b else []
    before = {slot.name: slot for slot in a}
    for after in b:
        known = before.pop(after.name, None)
        words += [f"{after.name}: newly saved"] if known is None else _slot(known, after)
    return words + [f"{name}: no longer saved" for name in before]


def _held(slots: Sequence[Saved]) -> int:
    """Bytes of the storages these slots keep alive, each once."""
    kept = [slot for slot in slots if not slot.dropped and not slot.unavailable]
    storages = {slot.storage_id: slot.storage_bytes for slot in kept if slot.storage_id is not None}
    return sum(storages.values()) + sum(slot.bytes for slot in kept if slot.storage_id is None)


def _slot(a: Saved, b: Saved) -> list[str]:
    states = [_state(slot) for slot in (a, b)]
    if states[0] != states[1]:
        return [f"{b.name}: {states[0]}{TO}{states[1]}"]
    pairs = (
        ("", a.dtype, b.dtype),
        ("", format_shape(a.shape), format_shape(b.shape)),
        ("strides ", str(a.stride), str(b.stride)),
        ("", a.device, b.device),
        ("", _origin(a), _origin(b)),
    )
    words = [f"{b.name}: {what}{before}{TO}{after}" for what, before, after in pairs if before != after]
    if a.shape != b.shape and len(words) > 1:
        words = [word for word in words if f"{b.name}: strides" not in word]
    if not words and a.storage_bytes != b.storage_bytes:
        words = [f"{b.name}: storage {format_bytes(a.storage_bytes)}{TO}{format_bytes(b.storage_bytes)}"]
    return words + _versions(a, b)


def _state(slot: Saved) -> str:
    if slot.dropped:
        return "dropped by checkpoint"
    if slot.unavailable.startswith("empty"):
        return "not saved"
    return shorten(slot.unavailable, 60) if slot.unavailable else "kept"


def _owner(slot: Saved) -> str:
    """Whose tensor it is; of an intermediate the operation without the number that it has in this run only."""
    return slot.owner.rpartition(" #")[0] or slot.owner if slot.owner_kind == "intermediate" else slot.owner


def _origin(slot: Saved) -> str:
    if not slot.owner:
        return "a tensor that autograd did not make"
    intermediate = slot.owner_kind == "intermediate"
    return f"of {operation_name(shorten(_owner(slot), 30))}" if intermediate else shorten(slot.owner, 30)


def _writes(slot: Saved) -> int:
    """In-place writes since it was saved; the absolute version also counts what came before the forward."""
    return 0 if slot.version_now is None or slot.version_saved is None else slot.version_now - slot.version_saved


def _versions(a: Saved, b: Saved) -> list[str]:
    if _writes(a) == _writes(b):
        return []
    return [f"{b.name}: version {a.version_now}{TO}{b.version_now}, saved at {b.version_saved}"]


def _attributes(a: Sequence[Attribute], b: Sequence[Attribute]) -> list[str]:
    """Attributes with another value; sizes and strides are told by shapes already."""
    before = {found.name: found.value or found.unavailable for found in a}
    words = []
    for found in b:
        known, value = before.get(found.name), found.value or found.unavailable
        if known is not None and known != value and not found.name.endswith(("_sym_sizes", "_sym_strides")):
            words.append(f"{shorten(found.name, 40)} {shorten(known, 40)}{TO}{shorten(value, 40)}")
    return words
