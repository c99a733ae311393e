"""What one call takes beside time: bytes its operations read and write, bytes it allocates at once, autograd nodes."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from engine.recorded import DispatchMode, read_next, storage_of
from engine.vectorisation.ways import Inputs, Way

_WRITES_ONLY = {"aten::copy_", "aten::fill_", "aten::zero_", "aten::zeros_like", "aten::ones_like", "aten::new_zeros"}
"""Their first argument is written, or lends its shape."""
_TOUCHES_NOTHING = {"aten::empty", "aten::new_empty", "aten::empty_like", "aten::empty_strided"}


class Account(DispatchMode):  # type: ignore[no-untyped-call]
    """Counts while it is entered: `traffic_bytes` of every operation dispatched, `peak_bytes` allocated at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.traffic_bytes = 0
        self.peak_bytes = 0
        self._live_bytes = 0
        self._holders: Counter[int] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {storage_of(tensor)[0] for tensor in _tensors((args, tuple((kwargs or {}).values())))}
        out = func(*args, **(kwargs or {}))
        name = func.name().partition(".")[0]
        if not func.is_view and name not in _TOUCHES_NOTHING:
            read = args[1:] if name in _WRITES_ONLY else args
            self.traffic_bytes += sum(distinct_bytes(tensor) for tensor in _tensors((read, out)))
        for tensor in _tensors(out):
            self._hold(tensor, given)
        return out

    def _hold(self, tensor: torch.Tensor, given: set[int]) -> None:
        key, size = storage_of(tensor)
        if key in given and key not in self._holders:
            return  # an input's storage: not allocated here
        if key not in self._holders:
            self._live_bytes += size
            self.peak_bytes = max(self.peak_bytes, self._live_bytes)
        self._holders[key] += 1
        weakref.finalize(tensor, self._release, key, size)

    def _release(self, key: int, size: int) -> None:
        self._holders[key] -= 1
        if not self._holders[key]:
            del self._holders[key]
            self._live_bytes -= size


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _tensors(part)


def distinct_bytes(tensor: torch.Tensor) -> int:
    """Bytes of the elements a tensor shows, those of an expanded dimension once."""
    elements = tensor.itemsize
    for length, step in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= length if step or not length else 1
    return elements


def take_account(way: Way, inputs: Inputs) -> tuple[int, int]:
    """(bytes read and written by the operations of one call, most bytes allocated at once beyond the result)."""
    with torch.no_grad(), Account() as account:
        result = way(*inputs.values())
    return account.traffic_bytes, account.peak_bytes - distinct_bytes(result)


def count_nodes(way: Way, inputs: Inputs) -> int:
    """Autograd nodes behind the result when every input requires grad, accumulators included."""
    with torch.enable_grad():
        result = way(*(tensor.detach().requires_grad_() for tensor in inputs.values()))
    seen: set[Any] = set()
    waiting: list[Any] = [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [target for target, _ in read_next(node)]
    return len(seen)
