"""Exact counts: bytes that saved tensors hold, bytes alive at once, allocations, autograd nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from engine.recorded import DispatchMode

Work = Callable[[], object]
Pairs = dict[str, dict[str, Work]]
"""Condition -> name -> what is timed; the first name is the baseline."""
Calls = dict[str, Work]
"""Call in words -> the call, which PyTorch may refuse."""


class LiveBytes(DispatchMode):  # type: ignore[no-untyped-call]
    """Counts storages made while it is entered: allocations, bytes alive now, and the most alive at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.allocations = self.live_bytes = self.peak_bytes = 0
        self.known: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_in((args, tuple((kwargs or {}).values())))}
        out = func(*args, **(kwargs or {}))
        for tensor in tensors_in(out):
            storage = tensor.untyped_storage()
            address, size = storage.data_ptr(), storage.nbytes()
            if size and address not in given and address not in self.known:
                self.known[address] = size
                self.allocations += 1
                self.live_bytes += size
                self.peak_bytes = max(self.peak_bytes, self.live_bytes)
                weakref.finalize(storage, self.release, address)
        return out

    def release(self, address: int) -> None:
        self.live_bytes -= self.known.pop(address)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor in nested tuples and lists."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in tensors_in(part)] if isinstance(value, tuple | list) else []


def live_bytes(work: Work) -> LiveBytes:
    """What one call allocates; what it returns is freed."""
    counted = LiveBytes()
    with counted:
        work()
    return counted


def held_bytes(forward: Work, model: torch.nn.Module) -> int:
    """Bytes of the storages that a forward saves for backward, each once, those of parameters left out."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    held: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = forward()
    del outputs
    return sum(held.values())


def count_nodes(tensor: torch.Tensor) -> int:
    """Every autograd node behind the tensor, each once."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [target for target, _ in node.next_functions]
    return len(seen)
