"""weighted_row_sum: the loop over rows and columns that the vectorisation ladder starts from, compiled."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.operators.checks import expect, expect_floating, expect_vector, shape_text
from engine.operators.promotion import promote_under_autocast
from engine.operators.registration import Operator, register


def weighted_row_sum(x: Tensor, weights: Tensor) -> Tensor:
    """y[i] = sum_j x[i, j] * weights[j], for x (rows, columns) and weights (columns,) of one dtype.

    x is read where it lies when its rows or its columns are dense. 16-bit values are added up in float32. Under
    autocast both are taken in the wider of their dtypes.
    """
    result: Tensor = _weighted_row_sum(x, weights)
    return result


def _check(x: Tensor, weights: Tensor, op: str = "weighted_row_sum") -> None:
    expect_floating(op, "x", x)
    expect(x.dim() == 2, f"{op}: expected x of shape (rows, columns); received {shape_text(x)}")
    expect_vector(op, "x", x, "weights", weights, x.shape[1], f" one for each column of x {shape_text(x)}")


def _check_backward(grad: Tensor, x: Tensor, weights: Tensor) -> None:
    op = "weighted_row_sum_backward"
    _check(x, weights, op)
    expect_vector(op, "x", x, "grad", grad, x.shape[0])


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """In one pass over x where both are asked for."""
    x, weights = ctx.saved_tensors
    to_x, to_weights = ctx.needs_input_grad
    if to_x and to_weights:
        grad_x, grad_weights = _weighted_row_sum_backward(grad, x, weights)
        return grad_x, grad_weights
    if to_x:
        return grad.unsqueeze(-1) * weights, None
    return None, weighted_row_sum(x.T, grad)


def _backward_of_backward(ctx: Any, to_x: Tensor, to_weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    grad, x, weights = ctx.saved_tensors
    to_grad = weighted_row_sum(to_x, weights) + weighted_row_sum(x, to_weights)
    return to_grad, grad.unsqueeze(-1) * to_weights, weighted_row_sum(to_x.T, grad)


def _gradients(grad: Tensor, x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Also with one more dimension in front of each."""
    grad_x = grad.unsqueeze(-1) * weights.unsqueeze(-2)
    return grad_x, (_wide(grad).unsqueeze(-1) * _wide(x)).sum(-2).to(x.dtype)


def _sums(x: Tensor, weights: Tensor) -> Tensor:
    return (_wide(x) * _wide(weights).unsqueeze(-2)).sum(-1).to(x.dtype)


def _batch_first(x: Tensor, dim: int | None, batch: int) -> Tensor:
    return x.expand(batch, *x.shape) if dim is None else x.movedim(dim, 0)


def _vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor, weights: Tensor) -> tuple[Tensor, int]:
    batch, (x_dim, weights_dim) = info.batch_size, in_dims
    stacked = _batch_first(x, x_dim, batch)
    if weights_dim is not None:
        return _sums(stacked, _batch_first(weights, weights_dim, batch)), 0
    return weighted_row_sum(stacked.flatten(0, 1), weights).reshape(batch, stacked.shape[1]), 0


def _vmap_backward(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Any, tuple[int, int]]:
    return _gradients(*(_batch_first(x, d, info.batch_size) for x, d in zip(args, in_dims, strict=True))), (0, 0)


_weighted_row_sum = register(
    Operator(
        name="weighted_row_sum",
        reference=_sums,
        fake=lambda x, weights: x.new_empty(x.shape[:1]),
        check=_check,
        setup_context=_save,
        backward=_backward,
        vmap=_vmap,
    )
)
_weighted_row_sum_backward = register(
    Operator(
        name="weighted_row_sum_backward",
        reference=_gradients,
        fake=lambda grad, x, weights: (x.new_empty(x.shape), weights.new_empty(weights.shape)),
        check=_check_backward,
        setup_context=_save,
        backward=_backward_of_backward,
        vmap=_vmap_backward,
    )
)
promote_under_autocast("weighted_row_sum")
