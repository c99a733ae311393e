"""bias_gelu_dropout_residual: what ends a transformer's feed-forward block, in one pass and with no mask saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.operators.checks import (
    dtype_text,
    expect,
    expect_device,
    expect_dtype,
    expect_floating,
    expect_like,
    shape_text,
)
from engine.operators.definitions.gelu_tanh import (
    gelu_tanh_backward_reference,
    gelu_tanh_derivatives,
    gelu_tanh_reference,
)
from engine.operators.elementwise import at_least_float32, looped
from engine.operators.philox import dropout_scales
from engine.operators.promotion import promote_under_autocast
from engine.operators.registration import Operator, register


def bias_gelu_dropout_residual(
    x: Tensor,
    bias: Tensor,
    residual: Tensor,
    p: float = 0.1,
    *,
    training: bool = True,
    seed: Tensor | int | None = None,
) -> Tensor:
    """residual + dropout(gelu_tanh(x + bias), p); contiguous, of x's shape.

    `bias` has x's last dimension, or one element. The mask is a pure function of `seed` and of each element's place in
    x, so it is drawn again in the backward instead of saved; a seed of None is drawn from PyTorch's default generator.
    Without `training` nothing is dropped. float32, float64, bfloat16 or float16; RuntimeError for a p outside 0 to 1.
    """
    p = p if training or not 0 <= p <= 1 else 0.0
    result: Tensor = _forward(x, bias, residual, p, _seed(seed, p, x))
    return result


def _seed(seed: Tensor | int | None, p: float, x: Tensor) -> Tensor:
    device = x.device if isinstance(x, Tensor) else None  # what is no tensor is refused by the operator
    if isinstance(seed, Tensor):
        return seed
    if seed is not None and (not isinstance(seed, int) or not -(2**63) <= seed < 2**63):
        wanted = "bias_gelu_dropout_residual: expected seed as an int of 64 bits, one int64 as a tensor, or None"
        raise RuntimeError(f"{wanted}; received {seed!r}")
    if seed is None and p > 0:
        return torch.randint(2**63 - 1, (), dtype=torch.int64, device=device)
    return torch.full((), seed or 0, dtype=torch.int64, device=device)


def _expect_bias_and_dropout(op: str, x: Tensor, bias: Tensor, p: float, seed: Tensor) -> None:
    expect_floating(op, "x", x)
    expect_device(op, "x", x, "bias", bias)
    expect_dtype(op, "x", x, "bias", bias)
    columns = x.shape[-1] if x.dim() else 1
    wanted = f"{op}: expected bias of x's last dimension or of one element, x {shape_text(x)}"
    expect(bias.dim() <= 1 and bias.numel() in (columns, 1), f"{wanted}; received {shape_text(bias)}")
    expect(0 <= p <= 1, f"{op}: expected p from 0 to 1; received {p:g}")
    expect_device(op, "x", x, "seed", seed)
    received = f"{dtype_text(seed.dtype)} {shape_text(seed)}"
    one = seed.dtype == torch.int64 and seed.numel() == 1
    expect(one, f"{op}: expected seed as one int64 beside x; received {received}")


def _check(x: Tensor, bias: Tensor, residual: Tensor, p: float, seed: Tensor) -> None:
    _expect_bias_and_dropout("bias_gelu_dropout_residual", x, bias, p, seed)
    expect_like("bias_gelu_dropout_residual", "x", x, "residual", residual)


def _check_backward(grad: Tensor, x: Tensor, bias: Tensor, p: float, seed: Tensor) -> None:
    _expect_bias_and_dropout("bias_gelu_dropout_residual_backward", x, bias, p, seed)
    expect_like("bias_gelu_dropout_residual_backward", "x", x, "grad", grad)


def _reference(x: Tensor, bias: Tensor, residual: Tensor, p: float, seed: Tensor) -> Tensor:
    wide = at_least_float32(x)
    dropped = gelu_tanh_reference(wide + bias) * dropout_scales(wide, p, seed)
    return (residual + dropped).to(x.dtype).contiguous()


def _backward_reference(grad: Tensor, x: Tensor, bias: Tensor, p: float, seed: Tensor) -> tuple[Tensor, Tensor]:
    wide = at_least_float32(x)
    grad_x = gelu_tanh_backward_reference(grad * dropout_scales(wide, p, seed), wide + bias)
    return grad_x.to(x.dtype).contiguous(), grad_x.sum_to_size(_summed(x, bias)).reshape(bias.shape).to(bias.dtype)


def _summed(x: Tensor, bias: Tensor) -> tuple[int, ...]:
    """The shape of the bias with as many dimensions as x."""
    return (*(1,) * (x.dim() - 1), bias.numel()) if x.dim() else ()


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, bias, _, ctx.p, seed = inputs
    ctx.save_for_backward(x, bias, seed)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, bias, seed = ctx.saved_tensors
    grad_x, grad_bias = _backward_operator(grad, x, bias, ctx.p, seed)
    return grad_x, grad_bias, grad, None, None


def _save_all(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    grad, x, bias, ctx.p, seed = inputs
    ctx.save_for_backward(grad, x, bias, seed)


def _backward_of_backward(ctx: Any, for_x: Tensor, for_bias: Tensor) -> tuple[Tensor | None, ...]:
    """The backward is linear in grad: its derivative by grad is the backward itself, of what comes in for both."""
    grad, x, bias, seed = ctx.saved_tensors
    incoming = for_x + for_bias
    for_grad, _ = _backward_operator(incoming, x, bias, ctx.p, seed)
    wide = at_least_float32(x)
    _, second = gelu_tanh_derivatives(wide + bias)
    change = incoming * grad * _scales(wide, bias, ctx.p, seed) * second
    for_bias = change.sum_to_size(_summed(x, bias)).reshape(bias.shape)
    return for_grad, change.to(x.dtype), for_bias.to(bias.dtype), None, None


def _scales(x: Tensor, bias: Tensor, p: float, seed: Tensor) -> Tensor:
    """The dropout's scale of every element, read off the operator itself: gelu_tanh(16) is 16."""
    zeros = torch.zeros_like(x)
    scales: Tensor = _forward(zeros + 16.0, torch.zeros_like(bias, dtype=x.dtype), zeros, p, seed) / 16.0
    return scales


_forward: Callable[..., Any] = register(
    Operator(
        name="bias_gelu_dropout_residual",
        reference=_reference,
        fake=lambda x, bias, residual, p, seed: x.new_empty(x.shape),
        check=_check,
        setup_context=_save,
        backward=_backward,
        vmap=looped(lambda *args: _forward(*args)),
    )
)
_backward_operator: Callable[..., Any] = register(
    Operator(
        name="bias_gelu_dropout_residual_backward",
        reference=_backward_reference,
        fake=lambda grad, x, bias, p, seed: (x.new_empty(x.shape), bias.new_empty(bias.shape)),
        check=_check_backward,
        setup_context=_save_all,
        backward=_backward_of_backward,
        vmap=looped(lambda *args: _backward_operator(*args)),
    )
)
promote_under_autocast("bias_gelu_dropout_residual")
