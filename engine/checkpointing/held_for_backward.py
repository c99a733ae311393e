"""What one forward keeps for its backward under a policy, each storage once, and what was moved away."""

from __future__ import annotations

import weakref

import torch

from engine import recorded
from engine.checkpointing.policies import Applied, OwnHooks, resident_storages, tensors_in
from engine.graph.held import SavedSlot


class HeldForBackward:
    """Outer saved-tensor hooks around those of the policy: what they keep in memory, and what they moved."""

    def __init__(self, one: Applied) -> None:
        self._inner = one.hooks
        self._resident = resident_storages(one.built)
        self._slots: weakref.WeakSet[SavedSlot] = weakref.WeakSet()
        self._cached: list[weakref.ref[torch.UntypedStorage]] = []
        self.moved_bytes = 0
        one.keep = self._keep

    def hooks(self) -> OwnHooks:
        """To be entered around forward and loss, in place of the policy's own."""
        return OwnHooks(self._pack, self._unpack)

    def held_bytes(self) -> int:
        """Bytes that are kept now for backward alone."""
        cached = [storage for one in self._cached if (storage := one()) is not None]
        held = {recorded.storage_key(storage): storage.nbytes() for storage in cached}
        for slot in self._slots:
            for tensor in tensors_in(slot.packed):
                held |= recorded.storages_of(tensor)
        return sum(size for key, size in held.items() if key not in self._resident)

    def _pack(self, tensor: torch.Tensor) -> SavedSlot:
        packed = self._inner.pack_hook(tensor) if self._inner else tensor
        storages = set(recorded.storages_of(tensor))
        if not any(storages & set(recorded.storages_of(one)) for one in tensors_in(packed)):
            self.moved_bytes += tensor.nbytes
        slot = SavedSlot(packed)
        self._slots.add(slot)
        return slot

    def _unpack(self, slot: SavedSlot) -> torch.Tensor:
        return self._inner.unpack_hook(slot.packed) if self._inner else slot.packed

    def _keep(self, tensor: torch.Tensor) -> None:
        """An output that a selective checkpoint keeps: until backward has used it, or at once gone where none will."""
        if recorded.storages_of(tensor):
            self._cached.append(weakref.ref(tensor.untyped_storage()))
