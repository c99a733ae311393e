"""geglu: the last dimension split into value and gate, value * gelu_tanh(gate), without copies of the halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.checks import expect, expect_device, expect_dtype, expect_floating, shape_text
from engine.operators.definitions.gelu_tanh import (
    gelu_tanh_backward_reference,
    gelu_tanh_derivatives,
    gelu_tanh_reference,
    save_input,
    save_inputs,
)
from engine.operators.elementwise import at_least_float32, batched
from engine.operators.registration import Operator, register


def geglu(x: Tensor) -> Tensor:
    """value * gelu_tanh(gate) with value, gate = x.chunk(2, -1); contiguous, its last dimension half of x's.

    float32, float64, bfloat16 or float16. RuntimeError for a last dimension that is odd, or none. Shazeer, "GLU
    variants improve Transformer", 2020.
    """
    result: Tensor = _geglu(x)
    return result


def _halves(x: Tensor, operator: str = "geglu") -> tuple[Tensor, Tensor]:
    wanted = f"{operator}: expected x with an even last dimension, value and gate"
    expect(x.dim() > 0 and x.shape[-1] % 2 == 0, f"{wanted}; received {shape_text(x)}")
    value, gate = x.chunk(2, -1)
    return value, gate


def _check(x: Tensor, operator: str = "geglu") -> None:
    expect_floating(operator, "x", x)
    _halves(x, operator)


def _check_backward(grad: Tensor, x: Tensor) -> None:
    operator = "geglu_backward"
    _check(x, operator)
    expect_device(operator, "x", x, "grad", grad)
    expect_dtype(operator, "x", x, "grad", grad)
    wanted = f"{operator}: expected grad of half x's last dimension, x {shape_text(x)}"
    expect(grad.shape == (*x.shape[:-1], x.shape[-1] // 2), f"{wanted}; received {shape_text(grad)}")


def _fake(x: Tensor) -> Tensor:
    return x.new_empty(_halves(x)[0].shape)


def _fake_backward(grad: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


def _reference(x: Tensor) -> Tensor:
    value, gate = _halves(at_least_float32(x))
    return (value * gelu_tanh_reference(gate)).to(x.dtype).contiguous()


def _backward_reference(grad: Tensor, x: Tensor) -> Tensor:
    value, gate = _halves(at_least_float32(x))
    upstream = at_least_float32(grad)
    parts = upstream * gelu_tanh_reference(gate), gelu_tanh_backward_reference(upstream * value, gate)
    return torch.cat(parts, -1).to(x.dtype)


def _backward(ctx: Any, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    result: Tensor = _geglu_backward(grad, x)
    return result


def _backward_of_backward(ctx: Any, grad_of_grad: Tensor) -> tuple[Tensor, Tensor]:
    grad, x = ctx.saved_tensors
    (value, gate), (for_value, for_gate) = _halves(at_least_float32(x)), _halves(at_least_float32(grad_of_grad))
    first, second = gelu_tanh_derivatives(gate)
    for_grad = for_value * gelu_tanh_reference(gate) + for_gate * value * first
    for_x = torch.cat((for_gate * grad * first, grad * (for_value * first + for_gate * value * second)), -1)
    return for_grad.to(grad.dtype), for_x.to(x.dtype)


def _batched(operator: Any) -> Any:
    """The vmap rule: rows are rows, as long as every sample has a last dimension of its own."""

    def rule(info: Any, in_dims: tuple[int | None, ...], *args: Tensor) -> tuple[Tensor, int]:
        x, dim = args[-1], in_dims[-1]
        _halves(x if dim is None else x.select(dim, 0))
        result: tuple[Tensor, int] = batched(operator)(info, in_dims, *args)
        return result

    return rule


_geglu: Callable[..., Any] = register(
    Operator(
        name="geglu",
        reference=_reference,
        fake=_fake,
        check=_check,
        setup_context=save_input,
        backward=_backward,
        vmap=_batched(geglu),
    )
)
_geglu_backward: Callable[..., Any] = register(
    Operator(
        name="geglu_backward",
        reference=_backward_reference,
        fake=_fake_backward,
        check=_check_backward,
        setup_context=save_inputs,
        backward=_backward_of_backward,
        vmap=_batched(lambda grad, x: _geglu_backward(grad, x)),
    )
)
