"""One step of a chain carried out on a real tensor, as a person would write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from engine.storage.operations import Step

MOST_VIEWS = 4096
"""Of an operation that makes many views at once: each is a tensor of its own."""


class StepRefused(ValueError):
    """A step this project does not carry out, in words; nothing PyTorch said."""


def apply_step(tensor: torch.Tensor, step: Step) -> torch.Tensor:
    """What the step gives; raises whatever PyTorch raises, or StepRefused."""
    carry_out = _SPECIAL.get(step.operation, _method)
    after = carry_out(tensor, step) if carry_out is _method else carry_out(tensor, *step.arguments)
    if any(size < 0 for size in after.shape):
        raise StepRefused(
            f"{step.operation} gave a tensor of sizes {tuple(after.shape)}: PyTorch lets a negative size through here, "
            f"and nothing can be done with such a tensor. Use sizes of 0 or more."
        )
    return after


def _method(tensor: torch.Tensor, step: Step) -> torch.Tensor:
    method: Any = getattr(tensor, step.operation)  # a name of OPERATIONS: Step knows no other
    return method if step.operation in _PROPERTIES else method(*step.arguments)  # type: ignore[no-any-return]


_PROPERTIES = {"T", "mT", "real", "imag"}


def _index(tensor: torch.Tensor, dim: int, entry: Any) -> torch.Tensor:
    """`tensor[:, entry]` with as many colons as `dim` says, counted from the end for a negative one.

    Without colons no tuple either: PyTorch records and refuses `tensor[(entry,)]` otherwise than `tensor[entry]`.
    """
    if dim == 0:
        return tensor[entry]
    if dim > 0:
        return tensor[(slice(None),) * dim + (entry,)]
    return tensor[(..., entry) + (slice(None),) * (-dim - 1)]


def _slice(tensor: torch.Tensor, dim: int, start: int | None, stop: int | None, step: int) -> torch.Tensor:
    return _index(tensor, dim, slice(start, stop, None if step == 1 else step))


def _squeeze(tensor: torch.Tensor, dim: int | None) -> torch.Tensor:
    return tensor.squeeze() if dim is None else tensor.squeeze(dim)


def _one_of(make: Callable[[torch.Tensor], tuple[torch.Tensor, ...]], tensor: torch.Tensor, index: int) -> torch.Tensor:
    return make(tensor)[index]


def _chunk(tensor: torch.Tensor, chunks: int, dim: int, index: int) -> torch.Tensor:
    return _one_of(lambda t: t.chunk(chunks, dim), tensor, index)


def _unbind(tensor: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    if -tensor.dim() <= dim < tensor.dim() and tensor.size(dim) > MOST_VIEWS:
        raise StepRefused(
            f"unbind over dimension {dim} would make {tensor.size(dim)} views at once; the limit here is {MOST_VIEWS}. "
            f"Use select({dim}, index), which makes one."
        )
    return _one_of(lambda t: t.unbind(dim), tensor, index)


def _format(name: str) -> torch.memory_format:
    return getattr(torch, name)  # type: ignore[no-any-return]


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name)  # type: ignore[no-any-return]


_SPECIAL: dict[str, Callable[..., torch.Tensor]] = {
    "slice": _slice,
    "select": _index,
    "squeeze": _squeeze,
    "chunk": _chunk,
    "unbind": _unbind,
    "contiguous": lambda tensor, name: tensor.contiguous(memory_format=_format(name)),
    "clone": lambda tensor, name: tensor.clone(memory_format=_format(name)),
    "to_memory_format": lambda tensor, name: tensor.to(memory_format=_format(name)),
    "to_dtype": lambda tensor, name: tensor.to(_dtype(name)),
    "view_dtype": lambda tensor, name: tensor.view(_dtype(name)),
    "as_strided": lambda tensor, size, stride, offset: tensor.as_strided(size, stride, offset),
}
