"""Private torch names for traces of memory: marks in a profile, and what checkpoints keep (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch
import torch.utils.checkpoint
from torch._C._profiler import (
    RecordScope,
    _ExtraFields_Allocation,
    _ExtraFields_TorchOp,
    _RecordFunctionFast,
    _TensorMetadata,
)

from engine import recorded

Mark: Callable[[str], Any] = _RecordFunctionFast
"""Context that leaves an event of its name in a profile; allocates nothing a profiler counts."""
BACKWARD: Any = RecordScope.BACKWARD_FUNCTION
Allocated: Any = _ExtraFields_Allocation
"""`extra_fields` of an allocation or free: read with `read_allocation`."""
Operated: Any = _ExtraFields_TorchOp
"""`extra_fields` of an operation or a mark: `sequence_number` of the next autograd node or -1, `scope`, `inputs`."""
read_allocation: Callable[[Any], Any] = attrgetter("ptr", "alloc_size", "total_allocated", "allocation_id", "device")
"""(address, bytes or minus bytes, the allocator's total after it, number of the block or None, device)."""
_is_copied_on_write: Callable[[torch.Tensor], bool] = torch._C._is_cow_tensor  # type: ignore[attr-defined]
TensorSeen: Any = _TensorMetadata
"""A tensor among the inputs of a profiled operation: `allocation_id`, `sizes`, `dtype`."""


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


@contextmanager
def recomputation_marked(name: str) -> Iterator[None]:
    """Within, what a non-reentrant checkpoint runs again stands under a mark of that name in a profile.

    For as long, the hooks under which a checkpoint runs its forward again open and close the mark too.
    """
    hooks: Any = torch.utils.checkpoint._recomputation_hook
    entered, left, open_marks = hooks.__enter__, hooks.__exit__, list[Any]()

    def enter(self: Any) -> Any:
        open_marks.append(Mark(name))
        open_marks[-1].__enter__()
        return entered(self)

    def leave(self: Any, *raised: object) -> Any:
        try:
            return left(self, *raised)
        finally:
            open_marks.pop().__exit__(None, None, None)

    before = {name: vars(hooks)[name] for name in ("__enter__", "__exit__") if name in vars(hooks)}
    hooks.__enter__, hooks.__exit__ = enter, leave
    try:
        yield
    finally:
        del hooks.__enter__, hooks.__exit__
        for one, function in before.items():
            setattr(hooks, one, function)


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
