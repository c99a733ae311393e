"""What operators share whose every element stands alone: their vmap rule, and arithmetic in at least float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.checks import expect_floating, expect_like


def expect_one(operator: str) -> Callable[..., None]:
    """The check of an elementwise operator's forward, `operator(x)`."""
    return lambda x: expect_floating(operator, "x", x)


def expect_gradient(operator: str) -> Callable[..., None]:
    """The check of an elementwise operator's backward, `operator(grad, x)`."""

    def check(grad: Tensor, x: Tensor) -> None:
        expect_floating(operator, "x", x)
        expect_like(operator, "x", x, "grad", grad)

    return check


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
        if info.batch_size == 0:
            one = _stacked([operator(*map(_of_zeros, args, in_dims))])
            return (one[:0], 0) if isinstance(one, Tensor) else (tuple(part[:0] for part in one), (0,) * len(one))
        results = [
            operator(*(v if dim is None else v.select(dim, i) for v, dim in zip(args, in_dims, strict=True)))
            for i in range(info.batch_size)
        ]
        stacked = _stacked(results)
        return stacked, 0 if isinstance(stacked, Tensor) else (0,) * len(stacked)

    return rule


def _stacked(results: list[Any]) -> Tensor | tuple[Tensor, ...]:
    if isinstance(results[0], Tensor):
        return torch.stack(results)
    return tuple(torch.stack(part) for part in zip(*results, strict=True))


def _of_zeros(value: Any, dim: int | None) -> Any:
    """A sample to know the shapes by where the batch has none."""
    return value if dim is None else value.new_zeros([size for d, size in enumerate(value.shape) if d != dim])


def at_least_float32(x: Tensor) -> Tensor:
    """x, or a float32 copy where its dtype is a 16-bit one: what the compiled loops compute in."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()
