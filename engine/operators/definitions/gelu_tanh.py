"""gelu_tanh: GELU in its tanh form, one pass forward and one pass backward, one tensor saved."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.elementwise import at_least_float32, batched, expect_gradient, expect_one
from engine.operators.registration import Operator, register

_SLOPE, _CUBIC = 2.0 * math.sqrt(2.0 / math.pi), 0.044715
SATURATED = 22.0
"""Where both derivatives have reached their limits in every dtype; beyond, x^2 may only overflow."""


def gelu_tanh(x: Tensor) -> Tensor:
    """x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), which is F.gelu(x, approximate="tanh").

    Any shape and strides, float32, float64, bfloat16 or float16. Where F.gelu has NaN, at -inf and in the gradient of
    what x^3 overflows for, this has the limits 0, and 0 and 1. Hendrycks and Gimpel, 2016.
    """
    result: Tensor = _gelu_tanh(x)
    return result


def gelu_tanh_derivatives(x: Tensor) -> tuple[Tensor, Tensor]:
    """First and second derivative of gelu_tanh at x, in at least float32."""
    x = at_least_float32(x).clamp(-SATURATED, SATURATED)
    square = x * x
    s = torch.sigmoid(_SLOPE * x * (1 + _CUBIC * square))
    du, ddu = _SLOPE * (1 + 3 * _CUBIC * square), 6 * _SLOPE * _CUBIC * x
    ds = s * (1 - s) * du
    dds = s * (1 - s) * ((1 - 2 * s) * du * du + ddu)
    return s + x * ds, 2 * ds + x * dds


def gelu_tanh_reference(x: Tensor) -> Tensor:
    """The same by PyTorch's own operation, with the limit at -inf."""
    return torch.nn.functional.gelu(x.clamp_min(-SATURATED), approximate="tanh")


def gelu_tanh_backward_reference(grad: Tensor, x: Tensor) -> Tensor:
    """grad * d gelu_tanh / dx by PyTorch's own operation, with the limits where x^3 overflows."""
    result: Tensor = torch.ops.aten.gelu_backward(grad, x.clamp(-SATURATED, SATURATED), approximate="tanh")
    return result


def save_input(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    result: Tensor = _gelu_tanh_backward(grad, x)
    return result


def _backward_of_backward(ctx: Any, grad_of_grad: Tensor) -> tuple[Tensor, Tensor]:
    grad, x = ctx.saved_tensors
    first, second = gelu_tanh_derivatives(x)
    return (grad_of_grad * first).to(grad.dtype), (grad_of_grad * grad * second).to(x.dtype)


_gelu_tanh: Callable[..., Any] = register(
    Operator(
        name="gelu_tanh",
        reference=gelu_tanh_reference,
        fake=torch.empty_like,
        check=expect_one("gelu_tanh"),
        setup_context=save_input,
        backward=_backward,
        vmap=lambda info, in_dims, x: (gelu_tanh(x), in_dims[0]),
    )
)
_gelu_tanh_backward: Callable[..., Any] = register(
    Operator(
        name="gelu_tanh_backward",
        reference=gelu_tanh_backward_reference,
        fake=lambda grad, x: torch.empty_like(x),
        check=expect_gradient("gelu_tanh_backward"),
        setup_context=save_inputs,
        backward=_backward_of_backward,
        vmap=batched(lambda grad, x: _gelu_tanh_backward(grad, x)),
    )
)
