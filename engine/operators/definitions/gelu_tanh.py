"""gelu_tanh: GELU in its tanh form, one pass forward and one pass backward, one tensor saved."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from engine.operators.registration import Operator, register

_SLOPE, _CUBIC = 2.0 * math.sqrt(2.0 / math.pi), 0.044715


def gelu_tanh(x: Tensor) -> Tensor:
    """x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), which is F.gelu(x, approximate="tanh").

    Any shape and strides, float32, float64, bfloat16 or float16. Hendrycks and Gimpel, 2016.
    """
    result: Tensor = _gelu_tanh(x)
    return result


def _sigmoid_and_slope(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """sigmoid(2u), d(2u)/dx and d2(2u)/dx2."""
    square = x * x
    s = torch.sigmoid(_SLOPE * x * (1 + _CUBIC * square))
    return s, _SLOPE * (1 + 3 * _CUBIC * square), 6 * _SLOPE * _CUBIC * x


def _derivatives(x: Tensor) -> tuple[Tensor, Tensor]:
    """First and second derivative of gelu_tanh at x."""
    s, du, ddu = _sigmoid_and_slope(x)
    ds = s * (1 - s) * du
    dds = s * (1 - s) * ((1 - 2 * s) * du * du + ddu)
    return s + x * ds, 2 * ds + x * dds


def _like(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def _save_input(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def _backward(ctx: Any, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    result: Tensor = _gelu_tanh_backward(grad, x)
    return result


def _save_both(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _backward_of_backward(ctx: Any, grad_of_grad: Tensor) -> tuple[Tensor, Tensor]:
    grad, x = ctx.saved_tensors
    first, second = _derivatives(x)
    return grad_of_grad * first, grad_of_grad * grad * second


_gelu_tanh = register(
    Operator(
        name="gelu_tanh",
        reference=lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        fake=_like,
        setup_context=_save_input,
        backward=_backward,
        vmap=lambda info, in_dims, x: (gelu_tanh(x), in_dims[0]),
    )
)
_gelu_tanh_backward = register(
    Operator(
        name="gelu_tanh_backward",
        reference=lambda grad, x: grad * _derivatives(x)[0],
        fake=lambda grad, x: torch.empty_like(x),
        setup_context=_save_both,
        backward=_backward_of_backward,
    )
)
