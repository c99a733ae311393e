"""What one call holds and moves, counted: saved tensors, the allocator's peak, bytes read and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.profiler import profile

from engine import recorded
from engine.garbage import collected_before
from engine.vectorisation.account import Account

# Kineto reports every start and stop on stderr below this level.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def saved_by(call: Callable[[], Any]) -> tuple[int, int]:
    """(tensors packed for backward during `call`, bytes of their storages, each counted once)."""
    packed: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept = call()
    storages = {recorded.storage_of(tensor)[0]: recorded.storage_of(tensor)[1] for tensor in packed}
    del kept
    return len(packed), sum(storages.values())


def peak_of(call: Callable[[], Any]) -> int:
    """Most bytes the allocator held at once beyond what it held before, results included, kernels' buffers too."""
    with collected_before(), profile(use_kineto=False, profile_memory=True) as profiled:
        kept = call()
    del kept
    held = peak = 0
    for _, change in sorted(_allocations(recorded.read_event_trees(profiled.kineto_results))):
        held += change
        peak = max(peak, held)
    return peak


def _allocations(events: list[Any]) -> Iterator[tuple[int, int]]:
    """(nanoseconds, bytes: negative when given back) of every event of the allocator."""
    waiting = list(events)
    while waiting:
        event = waiting.pop()
        waiting += event.children
        size = getattr(event.extra_fields, "alloc_size", None)
        if size is not None:
            yield event.start_time_ns, size


def traffic_of(call: Callable[[], Any]) -> int:
    """Bytes that the operations dispatched during `call` read and write, each operation for itself."""
    with Account() as account:
        kept = call()
    del kept
    moved: int = account.traffic_bytes
    return moved
