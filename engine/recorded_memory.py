"""Private torch names for traces of memory: marks in a profile, and what checkpoints keep (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import torch
from torch._C._profiler import RecordScope, _EventType, _RecordFunctionFast, _TensorMetadata

from engine import recorded

Mark: Callable[[str], Any] = _RecordFunctionFast
"""Context that leaves an event of its name in a profile; allocates nothing a profiler counts."""
ALLOCATION: Any = _EventType.Allocation
OPERATION: Any = _EventType.TorchOp
BACKWARD: Any = RecordScope.BACKWARD_FUNCTION
_is_copied_on_write: Callable[[torch.Tensor], bool] = torch._C._is_cow_tensor  # type: ignore[attr-defined]
TensorSeen: Any = _TensorMetadata
"""A tensor among the inputs of a profiled operation: `allocation_id`, `sizes`, `dtype`."""


read_allocation: Callable[[Any], Any] = attrgetter(
    *(f"extra_fields.{name}" for name in ("ptr", "alloc_size", "total_allocated", "allocation_id", "device"))
)
"""(address, bytes or minus bytes, the allocator's total after it, number of the block or None, device)."""
read_operation: Callable[[Any], Any] = attrgetter(
    *(f"extra_fields.{name}" for name in ("sequence_number", "scope", "inputs"))
)
"""(number of the next autograd node or -1, scope, inputs) of an operation in a profile."""


def addresses(tensor: torch.Tensor) -> tuple[int, ...]:
    """Where the storages of a tensor begin; several for sparse layouts, none where they cannot be reached.

    A copy-on-write storage is left alone: asking for its address would copy it.
    """
    try:
        if tensor.layout is torch.strided and not tensor.is_nested:
            return () if _is_copied_on_write(tensor) else (tensor.untyped_storage().data_ptr(),)
        return tuple(part.untyped_storage().data_ptr() for part in recorded.parts(tensor))
    except (RuntimeError, NotImplementedError, TypeError):
        return ()


def kept_by_checkpoint(hook: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """(what, tensor) of everything that a non-reentrant checkpoint's unpack hook keeps to run its forward again.

    Its inputs, the random number state it will restore, and what a selective policy has saved. Unpacks nothing.
    """
    for frame in _cells(hook):
        if type(frame).__name__ == "_CheckpointFrame":
            yield from _kept_by_frame(frame)


def frame_of(hook: Any) -> int:
    """Identity of the checkpoint whose hook this is; 0 for hooks of others."""
    return next((id(frame) for frame in _cells(hook) if type(frame).__name__ == "_CheckpointFrame"), 0)


def _kept_by_frame(frame: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for number, saved in enumerate(frame.saved_args):
        hook, data = recorded.read_raw(saved) if hasattr(saved, "unpack_hook") else (None, saved)
        if hook is None and isinstance(data, torch.Tensor):
            yield f"checkpoint input[{number}]", data
    for value in _cells(frame.recompute_fn):
        if isinstance(value, torch.Tensor):
            yield "checkpoint random number state", value
        elif isinstance(value, list | tuple):
            yield from (("checkpoint random number state", one) for one in value if isinstance(one, torch.Tensor))
        elif hasattr(value, "storage") and isinstance(value.storage, dict):
            yield from _kept_by_policy(value.storage)


def _kept_by_policy(storage: dict[Any, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for key, kept in storage.items():
        operator = key[0] if isinstance(key, tuple) else key
        for value in kept.values() if isinstance(kept, dict) else kept:
            for one in value if isinstance(value, list | tuple) else [value]:
                if isinstance(tensor := getattr(one, "val", one), torch.Tensor):
                    yield f"selective checkpoint {operator}", tensor


def _cells(function: Any) -> Iterator[Any]:
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
