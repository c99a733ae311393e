"""Which slots keep which storage for backward, and what autocast keeps twice because of its casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from engine import recorded
from engine.graph.held import held_storages
from engine.mixed_precision.calls import Attributed, Leaves, source_of
from engine.mixed_precision.recorder import Seen
from engine.mixed_precision.results import Held, KeptTwice

Slots = dict[int, tuple[str, ...]]
"""Identity of a storage -> the slots that keep it, as "AddmmBackward0.mat1"."""
LIVES = {"weight": "it is a parameter", "buffer": "it is a buffer", "input": "it is an input"}


def saved_slots(nodes: Iterable[Any]) -> Slots:
    """Every storage that a slot of these nodes keeps; what a hook has packed away is left out."""
    found: dict[int, list[str]] = {}
    for node in nodes:
        layout = recorded.layout_of(node)
        name = layout.name or node.name()
        for slot, tensor in _tensors_of(node, layout):
            for key, _ in recorded.storages_of(tensor):
                found.setdefault(key, []).append(f"{name}.{slot}")
    return {key: tuple(dict.fromkeys(names)) for key, names in found.items()}


def _tensors_of(node: Any, layout: recorded.NodeLayout) -> Iterator[tuple[str, torch.Tensor]]:
    try:
        held = layout.read_slots(node)
    except RuntimeError:
        return
    raws = held if len(layout.slots) > 1 else (held,)
    for slot, raw in zip(layout.slots, raws if layout.slots else (), strict=False):
        for one in raw if isinstance(raw, tuple) else (raw,):
            hook, tensor = recorded.read_raw(one)
            if hook is None and tensor is not None:
                yield slot.name, tensor


def kept_twice(seen: Sequence[Seen], found: Attributed, leaves: Leaves, slots: Slots) -> tuple[KeptTwice, ...]:
    """Casts by autocast in forward whose copy is saved while the source lives on, largest copy first."""
    makers: dict[int, Seen] = {}
    rows = []
    for one in seen:
        if one.phase != "backward" and found.cast_by[one.number] == "autocast":
            row = _kept_twice(one, found, leaves, slots, makers)
            if row is not None:
                rows.append(row)
        if not one.is_view:
            makers.update(dict.fromkeys(one.output_storages, one))
    return tuple(sorted(rows, key=lambda row: -row.copy_bytes))


def _kept_twice(
    one: Seen, found: Attributed, leaves: Leaves, slots: Slots, makers: Mapping[int, Seen]
) -> KeptTwice | None:
    source, copy = one.input_storages[0], one.output_storages[0]
    name, kind = source_of(one, found, leaves, makers)
    lives = LIVES.get(kind, "") or ", ".join(slots.get(source, ()))
    if copy not in slots or not lives:
        return None
    wide = {"float32": 4, "float64": 8}.get(one.inputs[0], 2)
    narrow = {"float32": 4, "float64": 8}.get(one.outputs[0], 2)
    return KeptTwice(
        tensor=name,
        kind=kind,
        shape=one.shape,
        source=one.inputs[0],
        source_bytes=one.output_bytes // narrow * wide,
        source_lives=lives if kind in LIVES else f"saved too: {lives}",
        copy=one.outputs[0],
        copy_bytes=one.output_bytes,
        copy_saved_by=slots[copy],
    )


def measure_saved(forward: Callable[[], Any], leaves: Leaves) -> Held:
    """What is still saved when `forward` has returned its loss: all storages, and those of no leaf."""
    held = held_storages(forward)
    return Held(
        saved_bytes=sum(held.values()),
        beside_leaves_bytes=sum(size for key, size in held.items() if key not in leaves),
    )
