"""Which tensors share memory and which share a version counter, numbered through one run."""

from __future__ import annotations

from collections.abc import MutableMapping

import torch

from engine import recorded
from engine.in_place.results import Storage
from engine.recorded_in_place import TensorTable, share_counter

NO_COUNTER = -1


class Ledger:
    """Storages and counters by number.

    Storages are held, so that the address of one that was freed is not taken for a new one; tensors are not.
    """

    def __init__(self) -> None:
        self.line = 0
        self._held: list[torch.UntypedStorage] = []
        self._numbers: dict[int, int] = {}
        self._names: list[str] = []
        self._made_at: list[int] = []
        self._counters: list[list[int]] = []
        self._tensors: MutableMapping[torch.Tensor, int] = TensorTable()
        self._count = 0

    def storage(self, tensor: torch.Tensor, name: str = "") -> int:
        """The number of a tensor's storage; a new one is called by `name`."""
        storage = tensor.untyped_storage()
        key = recorded.storage_key(storage)
        if key not in self._numbers:
            self._numbers[key] = len(self._held)
            self._held.append(storage)
            self._names.append(name)
            self._made_at.append(self.line)
            self._counters.append([])
        number = self._numbers[key]
        if name and not self._names[number]:
            self._names[number] = name
        return number

    def counter(self, tensor: torch.Tensor, name: str = "") -> int:
        """The number of a tensor's version counter, found out by raising it and looking at the others."""
        if recorded.version_of(tensor) is None:
            self.storage(tensor, name)
            return NO_COUNTER
        number = self.storage(tensor, name)
        known = self._tensors.get(tensor)
        # `x.data = y` gives a tensor other memory, and keeps its counter
        if known is not None:
            if known not in self._counters[number]:
                self._counters[number].append(known)
            return known
        counter = self._find(tensor)
        if counter is None:
            counter = self._count
            self._count += 1
        if counter not in self._counters[number]:
            self._counters[number].append(counter)
        self._tensors[tensor] = counter
        return counter

    def _find(self, tensor: torch.Tensor) -> int | None:
        for other in list(self._tensors.keys()):
            if share_counter(tensor, other):
                return self._tensors[other]
        return None

    def storages(self) -> tuple[Storage, ...]:
        """Every storage seen, in order."""
        rows = zip(self._names, self._held, self._made_at, self._counters, strict=True)
        return tuple(Storage(name, held.nbytes(), made_at, tuple(counters)) for name, held, made_at, counters in rows)
