"""clipped_sigmoid: sigmoid(beta x) whose slope is clipped in the backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.checks import expect
from engine.operators.elementwise import at_least_float32, batched, expect_gradient, expect_one
from engine.operators.registration import Operator, register


def clipped_sigmoid(x: Tensor, beta: float = 1.0, clip: float = 0.1) -> Tensor:
    """Forward sigmoid(beta x), backward grad * clamp(beta s (1 - s), -clip, clip) with s = sigmoid(beta x).

    Where the slope is clipped the backward is not the derivative of the forward, and its own derivative is 0; with
    clip=inf it is the true one everywhere. Any shape and strides, float32, float64, bfloat16 or float16. RuntimeError
    for a beta that is not finite or a clip below 0.
    """
    result: Tensor = _clipped_sigmoid(x, beta, clip)
    return result


def _slope_and_change(x: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """beta s (1 - s) and its derivative, in at least float32. 1 - s is sigmoid(-beta x), which keeps its digits."""
    t = beta * at_least_float32(x)
    s, rest = torch.sigmoid(t), torch.sigmoid(-t)
    slope = beta * s * rest
    return slope, beta * slope * (rest - s)


def _expect_settings(operator: str, beta: float, clip: float) -> None:
    expect(math.isfinite(beta), f"{operator}: expected a finite beta; received {beta:g}")
    expect(clip >= 0, f"{operator}: expected a clip of at least 0 (inf clips nothing); received {clip:g}")


def _check(x: Tensor, beta: float = 1.0, clip: float = 0.1) -> None:
    _expect_settings("clipped_sigmoid", beta, clip)
    expect_one("clipped_sigmoid")(x)


def _check_backward(grad: Tensor, x: Tensor, beta: float, clip: float) -> None:
    _expect_settings("clipped_sigmoid_backward", beta, clip)
    expect_gradient("clipped_sigmoid_backward")(grad, x)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, ctx.beta, ctx.clip = inputs
    ctx.save_for_backward(x)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
    (x,) = ctx.saved_tensors
    return _clipped_sigmoid_backward(grad, x, ctx.beta, ctx.clip), None, None


def _save_both(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    grad, x, ctx.beta, ctx.clip = inputs
    ctx.save_for_backward(grad, x)


def _backward_of_backward(ctx: Any, grad_of_grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
    grad, x = ctx.saved_tensors
    slope, change = _slope_and_change(x, ctx.beta)
    change = change.masked_fill(slope.abs() > ctx.clip, 0.0)
    clipped = slope.clamp(-ctx.clip, ctx.clip)
    return (grad_of_grad * clipped).to(grad.dtype), (grad_of_grad * grad * change).to(x.dtype), None, None


def _backward_reference(grad: Tensor, x: Tensor, beta: float, clip: float) -> Tensor:
    return (grad * _slope_and_change(x, beta)[0].clamp(-clip, clip)).to(x.dtype)


_clipped_sigmoid: Callable[..., Any] = register(
    Operator(
        name="clipped_sigmoid",
        reference=lambda x, beta=1.0, clip=0.1: torch.sigmoid(beta * at_least_float32(x)).to(x.dtype),
        fake=lambda x, beta=1.0, clip=0.1: torch.empty_like(x),
        check=_check,
        setup_context=_save,
        backward=_backward,
        vmap=batched(clipped_sigmoid),
    )
)
_clipped_sigmoid_backward: Callable[..., Any] = register(
    Operator(
        name="clipped_sigmoid_backward",
        reference=_backward_reference,
        fake=lambda grad, x, beta, clip: torch.empty_like(x),
        check=_check_backward,
        setup_context=_save_both,
        backward=_backward_of_backward,
        vmap=batched(lambda *args: _clipped_sigmoid_backward(*args)),
    )
)
