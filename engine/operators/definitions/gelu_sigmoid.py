"""gelu_sigmoid: GELU whose backward is, on purpose, not the derivative of its forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.definitions.gelu_tanh import gelu_tanh_reference, save_input, save_inputs
from engine.operators.elementwise import at_least_float32, batched, expect_gradient, expect_one
from engine.operators.registration import Operator, register

_SCALE = 1.702


def gelu_sigmoid(x: Tensor) -> Tensor:
    """Forward gelu_tanh(x), backward grad * (s + 1.702 x s (1 - s)) with s = sigmoid(1.702 x).

    The backward is intentionally not the derivative of the forward: it is that of x * sigmoid(1.702 x), a coarser
    approximation of GELU, as hand-written "fused" GELUs have it. gradcheck refuses it; `gelu_tanh` is the true one. Any
    shape and strides, float32, float64, bfloat16 or float16.
    """
    result: Tensor = _gelu_sigmoid(x)
    return result


def _slopes(x: Tensor) -> tuple[Tensor, Tensor]:
    """What stands for the derivative at x, and the derivative of that, in at least float32."""
    x = at_least_float32(x).clamp(-410, 410)
    s = torch.sigmoid(_SCALE * x)
    ds = _SCALE * s * (1 - s)
    return s + x * ds, ds * (2 + _SCALE * x * (1 - 2 * s))


def _backward(ctx: Any, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    result: Tensor = _gelu_sigmoid_backward(grad, x)
    return result


def _backward_of_backward(ctx: Any, grad_of_grad: Tensor) -> tuple[Tensor, Tensor]:
    grad, x = ctx.saved_tensors
    slope, change = _slopes(x)
    return (grad_of_grad * slope).to(grad.dtype), (grad_of_grad * grad * change).to(x.dtype)


_gelu_sigmoid: Callable[..., Any] = register(
    Operator(
        name="gelu_sigmoid",
        reference=gelu_tanh_reference,
        fake=torch.empty_like,
        check=expect_one("gelu_sigmoid"),
        setup_context=save_input,
        backward=_backward,
        vmap=lambda info, in_dims, x: (gelu_sigmoid(x), in_dims[0]),
    )
)
_gelu_sigmoid_backward: Callable[..., Any] = register(
    Operator(
        name="gelu_sigmoid_backward",
        reference=lambda grad, x: (grad * _slopes(x)[0]).to(x.dtype),
        fake=lambda grad, x: torch.empty_like(x),
        check=expect_gradient("gelu_sigmoid_backward"),
        setup_context=save_inputs,
        backward=_backward_of_backward,
        vmap=batched(lambda grad, x: _gelu_sigmoid_backward(grad, x)),
    )
)
