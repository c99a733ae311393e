"""Private torch names the profiler page needs (torch 2.11-2.14): the tree of events, and CUDA's allocator history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.profiler import profile

_TORCH, _ALLOCATION = "TorchOp", "Allocation"
_PYTHON = ("PyCall", "PyCCall")
MOST_HISTORY = 100_000
"""Entries of CUDA's allocator history that are kept."""


class Event(NamedTuple):
    """One event of the tree with what is read of it; `sequence_nr` is -1 for none."""

    handle: Any
    name: str
    id: int
    start_ns: int
    end_ns: int
    sequence_nr: int
    is_backward: bool
    """Whether it is a node's own backward (RecordScope.BACKWARD_FUNCTION)."""


class Allocation(NamedTuple):
    """One event of an allocator; `bytes` is negative for a free."""

    time_ns: int
    address: int
    bytes: int
    device_type: str


def event_tree(recorded: profile) -> list[Any]:
    """Handles of the outermost events of a profile; `event_or_allocation` reads one, `.children` holds those inside."""
    return list(_results(recorded).experimental_event_tree())


def event_count(recorded: profile) -> int:
    """Events of a profile, allocations included: what reading it takes time for."""
    return len(_results(recorded).events())


def trace_start_ns(recorded: profile) -> int:
    """Where the times of `prof.events()` start."""
    return int(_results(recorded).trace_start_ns())


def _results(recorded: profile) -> Any:
    return recorded.profiler.kineto_results  # type: ignore[union-attr]


def event_or_allocation(handle: Any) -> Event | Allocation | None:
    """What a node of the tree is; None for one that is neither an operation, a Python call nor an allocation."""
    kind, fields = handle.typed
    if kind.name == _ALLOCATION:
        return Allocation(handle.start_time_ns, fields.ptr, fields.alloc_size, fields.device.type)
    if kind.name == _TORCH:
        backward = fields.scope.name == "BACKWARD_FUNCTION"
        return Event(handle, handle.name, handle.correlation_id, *_times(handle), fields.sequence_number, backward)
    if kind.name in _PYTHON:
        return Event(handle, handle.name, handle.correlation_id, *_times(handle), -1, False)
    return None


def _times(handle: Any) -> tuple[int, int]:
    return handle.start_time_ns, handle.end_time_ns


@contextmanager
def cuda_history(device: str) -> Iterator[list[dict[str, Any]]]:
    """Record CUDA's allocator inside; afterwards the list holds its snapshot. It stays empty on other devices."""
    found: list[dict[str, Any]] = []
    if device != "cuda":
        yield found
        return
    torch.cuda.memory._record_memory_history(max_entries=MOST_HISTORY)
    try:
        yield found
        found.append(torch.cuda.memory._snapshot())
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)
