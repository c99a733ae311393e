"""Storages born and freed, followed operation by operation, for tensors that hold nothing."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from engine import recorded
from engine.checkpointing.forecast_kernels import with_real_statistics, working_bytes


class FollowStorages(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Bytes of the storages that operations made and nobody has let go of yet, and the most there ever were.

    Enter it inside the mode that makes the tensors. `working_bytes` adds what a kernel takes for itself while it runs.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live_bytes = 0
        self.peak_bytes = 0
        self._sizes: dict[int, int] = {}
        self._watched: dict[int, weakref.ref[Any]] = {}
        self._numbers: dict[int, int] = {}
        self._made = 0
        self._leaves_out = False

    def numbers_of(self, tensor: torch.Tensor) -> dict[int, int]:
        """Bytes of the tensor's storages by a number no other storage ever has; without those left out."""
        keys = [(recorded.storage_key(storage), storage.nbytes()) for storage in storages(tensor)]
        return {self._numbers[key]: nbytes for key, nbytes in keys if key in self._numbers}

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """What is made within counts in nothing, as what the allocator never gave out."""
        self._leaves_out = True
        try:
            yield
        finally:
            self._leaves_out = False

    def leave_out(self, tensors: Iterable[torch.Tensor]) -> None:
        """Storages that were there before: they count in nothing."""
        with self.leaving_out():
            for tensor in tensors:
                self.follow(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = with_real_statistics(func, args, func(*args, **(kwargs or {})))
        if func.namespace == "prim":  # questions that only tensors that hold nothing are asked
            return out
        for tensor in tree_iter(out):
            if isinstance(tensor, torch.Tensor):
                self.follow(tensor)
        self.peak_bytes = max(self.peak_bytes, self.live_bytes + working_bytes(func, args, out))
        return out

    def follow(self, tensor: torch.Tensor) -> None:
        """Count its storages, each once, until they are freed."""
        for storage in storages(tensor):
            key = recorded.storage_key(storage)
            if key not in self._sizes:
                self._sizes[key] = 0 if self._leaves_out else storage.nbytes()
                self.live_bytes += self._sizes[key]
                if not self._leaves_out:
                    self._numbers[key] = self._made = self._made + 1
                self._watched[key] = weakref.ref(storage, partial(self._freed, key))

    def _freed(self, key: int, gone: Any) -> None:
        del self._watched[key]
        self._numbers.pop(key, None)
        self.live_bytes -= self._sizes.pop(key)


def storages(tensor: torch.Tensor) -> list[torch.UntypedStorage]:
    """What a tensor keeps alive; several for sparse layouts."""
    if tensor.layout is torch.strided:
        return [tensor.untyped_storage()]
    return [part.untyped_storage() for part in recorded.parts(tensor)]
