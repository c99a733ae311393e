"""Bytes that a forward's saved tensors hold, seen by outer hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from engine import recorded


class SavedSlot:
    """Stands for one saved tensor; gone when its node lets go of it. `packed` is what an inner hook made of it."""

    __slots__ = ("__weakref__", "packed")

    def __init__(self, packed: Any) -> None:
        # A saved result holds its node, which holds this slot: without detach they would keep each other alive.
        self.packed = packed.detach() if isinstance(packed, torch.Tensor) else packed


def held_storages(forward: Callable[[], Any]) -> dict[int, int]:
    """Bytes by storage that are still saved when `forward` has returned.

    What was saved on a way that its result does not reach (cut by detach or no_grad) is gone by then. Non-reentrant
    checkpoints put their own hooks inside, so what they drop is not held and the inputs they keep are.
    """
    slots: weakref.WeakSet[SavedSlot] = weakref.WeakSet()

    def pack(tensor: torch.Tensor) -> SavedSlot:
        slot = SavedSlot(tensor)
        slots.add(slot)
        return slot

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda slot: slot.packed):
        result = forward()
    held = {key: size for slot in slots for key, size in recorded.storages_of(slot.packed)}
    del result
    return held


def measure_held_bytes(forward: Callable[[], Any]) -> int:
    """The sum of `held_storages`."""
    return sum(held_storages(forward).values())
