"""What operators share whose every element stands alone: their vmap rule, and arithmetic in at least float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def batched(operator: Callable[..., Any]) -> Callable[..., Any]:
    """The vmap rule of an elementwise operator: itself, on tensors that all have the batch as their first dimension."""

    def rule(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, int]:
        return operator(
            *(_batch_first(value, dim, info.batch_size) for value, dim in zip(args, in_dims, strict=True))
        ), 0

    return rule


def _batch_first(value: Any, dim: int | None, size: int) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)


def looped(operator: Callable[..., Tensor | tuple[Tensor, ...]]) -> Callable[..., Any]:
    """The vmap rule of an operator that depends on an element's place: call it for each of the batch."""

    def rule(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        results = [
            operator(*(v if dim is None else v.select(dim, i) for v, dim in zip(args, in_dims, strict=True)))
            for i in range(info.batch_size)
        ]
        if isinstance(results[0], Tensor):
            return torch.stack(results), 0  # type: ignore[arg-type]
        return tuple(torch.stack(part) for part in zip(*results, strict=True)), (0,) * len(results[0])

    return rule


def at_least_float32(x: Tensor) -> Tensor:
    """x, or a float32 copy where its dtype is a 16-bit one: what the compiled loops compute in."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()
