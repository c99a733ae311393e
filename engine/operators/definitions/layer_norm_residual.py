"""layer_norm_residual: the sum with the residual, its statistics and its layer norm in one pass over memory."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal, overload

import torch
from torch import Tensor

from engine.operators.checks import (
    dtype_text,
    expect,
    expect_device,
    expect_floating,
    expect_like,
    expect_vector,
    shape_text,
)
from engine.operators.registration import Operator, register


@overload
def layer_norm_residual(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5, *, return_sum: Literal[True] = True
) -> tuple[Tensor, Tensor]: ...


@overload
def layer_norm_residual(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5, *, return_sum: Literal[False]
) -> Tensor: ...


def layer_norm_residual(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5, *, return_sum: bool = True
) -> tuple[Tensor, Tensor] | Tensor:
    """(F.layer_norm(x + residual, (M,), weight, bias, eps), x + residual) for x and residual of one shape (..., M).

    The sum goes on as the next block's residual; without `return_sum` the layer norm alone comes back. Both have
    gradients. Computed in float32 under autocast, as F.layer_norm is on CUDA. Ba, Kiros and Hinton, 2016.
    """
    y, summed, _, _ = _layer_norm_residual(x, residual, weight, bias, eps)
    return (y, summed) if return_sum else y


def _expect_rows(op: str, name: str, x: Tensor) -> None:
    expect_floating(op, name, x)
    expect(x.dim() >= 1, f"{op}: expected {name} of one dimension at least; received a 0-d tensor")


def _expect_parameter(op: str, name: str, x: Tensor, other: str, y: Tensor) -> None:
    expect_vector(op, name, x, other, y, x.shape[-1], f" the last dimension of {name} {shape_text(x)}")


def _check(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> None:
    op = "layer_norm_residual"
    _expect_rows(op, "x", x)
    expect_like(op, "x", x, "residual", residual)
    _expect_parameter(op, "x", x, "weight", weight)
    _expect_parameter(op, "x", x, "bias", bias)


def _check_backward(
    grad: Tensor, grad_summed: Tensor | None, summed: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor
) -> None:
    op = "layer_norm_residual_backward"
    _expect_rows(op, "summed", summed)
    expect_like(op, "summed", summed, "grad", grad)
    if grad_summed is not None:
        expect_like(op, "summed", summed, "grad_summed", grad_summed)
    _expect_parameter(op, "summed", summed, "weight", weight)
    rows = math.prod(summed.shape[:-1])
    for name, x in (("mean", mean), ("rstd", rstd)):
        expect_device(op, "summed", summed, name, x)
        received = f"{dtype_text(x.dtype)} {shape_text(x)}"
        wanted = f"{op}: expected {name} of dtype float64, one for each of {rows} rows"
        expect(x.dtype == torch.float64 and x.numel() == rows, f"{wanted}; received {received}")


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _reference(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, ...]:
    summed = (x + residual).contiguous()
    wide = summed.double()
    mean = wide.mean(-1)
    rstd = ((wide - mean.unsqueeze(-1)).square().mean(-1) + eps).rsqrt()
    y = torch.nn.functional.layer_norm(wide, weight.shape, weight.double(), bias.double(), eps)
    return y.to(x.dtype), summed, mean, rstd


def _fake(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, ...]:
    mean, rstd = (x.new_empty(x.shape[:-1], dtype=torch.float64) for _ in range(2))
    return x.new_empty(x.shape), x.new_empty(x.shape), mean, rstd


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, summed, mean, rstd = output
    ctx.save_for_backward(summed, mean, rstd, inputs[2])
    ctx.mark_non_differentiable(mean, rstd)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, grad: Tensor | None, grad_summed: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
    if grad is None:
        return grad_summed, grad_summed, None, None, None
    grad_x, grad_weight, grad_bias = _layer_norm_residual_backward(grad, grad_summed, *ctx.saved_tensors)
    return grad_x, grad_x, grad_weight, grad_bias, None


def _normalised(summed: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """(normalised rows, rstd) as functions of `summed` that autograd can follow; eps is what rstd has beyond it."""
    centred = summed - summed.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    eps = (rstd.unsqueeze(-1).double().pow(-2) - variance).detach()
    differentiable = (variance + eps).rsqrt().to(summed.dtype)
    return centred * differentiable, differentiable


def _project(vectors: Tensor, normal: Tensor) -> Tensor:
    """Take off each row's mean and its part along the normalised row: what a layer norm lets through, over rstd."""
    return vectors - vectors.mean(-1, keepdim=True) - normal * (vectors * normal).mean(-1, keepdim=True)


def _over_rows(shares: Tensor, kept: int) -> Tensor:
    """Sum over every dimension between the first `kept` ones and the last."""
    rows = tuple(range(kept, shares.dim() - 1))
    return shares.sum(rows) if rows else shares


def _gradients(
    grad: Tensor, through: Tensor | None, summed: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, *, kept: int
) -> tuple[Tensor, Tensor, Tensor]:
    wide, upstream = _wide(summed), _wide(grad)
    # Not with `mean` and `rstd` as they come: under vmap another derivative may be taken of this.
    normal, scale = (x.to(wide.dtype) for x in _normalised(wide.double(), rstd))
    grad_x = scale * _project(upstream * weight, normal)
    if through is not None:
        grad_x = grad_x + through
    grad_weight, grad_bias = _over_rows(upstream * normal, kept), _over_rows(upstream, kept)
    return grad_x.to(summed.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype, copy=True)


def _fake_backward(
    grad: Tensor, grad_summed: Tensor | None, summed: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return summed.new_empty(summed.shape), weight.new_empty(weight.shape), weight.new_empty(weight.shape)


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    grad, grad_summed, summed, _, rstd, weight = inputs
    ctx.through_sum = grad_summed is not None
    ctx.save_for_backward(grad, summed, rstd, weight)


def _backward_of_backward(ctx: Any, to_x: Tensor, to_weight: Tensor, to_bias: Tensor) -> tuple[Tensor | None, ...]:
    """Of rstd * project(grad * weight), sum(grad * normal) and sum(grad), through torch's operations.

    With P the projection, which is its own transpose, d normal = rstd P(d summed) and d rstd = -rstd^2 mean(normal
    d summed).
    """
    grad, summed, rstd, weight = (_wide(x) for x in ctx.saved_tensors)
    to_x, to_weight, to_bias = _wide(to_x), _wide(to_weight), _wide(to_bias)
    normal, scale = _normalised(summed, rstd)
    scaled, passed = grad * weight, scale * _project(to_x, normal)
    to_grad = passed * weight + to_weight * normal + to_bias
    along, across = (scaled * normal).mean(-1, keepdim=True), (to_x * normal).mean(-1, keepdim=True)
    to_normal = grad * to_weight - scale * (to_x * along + scaled * across)
    to_summed = scale * (_project(to_normal, normal) - normal * (passed * scaled).mean(-1, keepdim=True))
    found = to_grad, to_x if ctx.through_sum else None, to_summed, None, None, _over_rows(passed * grad, 0)
    dtype = ctx.saved_tensors[0].dtype
    return tuple(None if x is None else x.to(dtype) for x in found)


def _batch_first(x: Tensor | None, dim: int | None, batch: int) -> Any:
    if x is None:
        return None
    return x.expand(batch, *x.shape) if dim is None else x.movedim(dim, 0)


def _vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
    """A weight and bias of every sample's own are applied outside, to the layer norm without them."""
    x, residual, weight, bias = (
        _batch_first(x, dim, info.batch_size) for x, dim in zip(args[:4], in_dims[:4], strict=True)
    )
    if in_dims[2] is None and in_dims[3] is None:
        return _layer_norm_residual(x, residual, args[2], args[3], *args[4:]), (0, 0, 0, 0)
    ones, zeros = torch.ones_like(weight[0]), torch.zeros_like(bias[0])
    y, *others = _layer_norm_residual(x, residual, ones, zeros, *args[4:])
    own = (info.batch_size, *[1] * (x.dim() - 2), x.shape[-1])
    return (y * weight.reshape(own) + bias.reshape(own), *others), (0, 0, 0, 0)


def _vmap_backward(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
    batched = [_batch_first(x, dim, info.batch_size) for x, dim in zip(args, in_dims, strict=True)]
    summed, weight = batched[2], batched[5]
    batched[5] = weight.reshape(info.batch_size, *[1] * (summed.dim() - 2), summed.shape[-1])
    return _gradients(*batched, kept=1), (0, 0, 0)


_layer_norm_residual = register(
    Operator(
        name="layer_norm_residual",
        reference=_reference,
        fake=_fake,
        check=_check,
        setup_context=_save,
        backward=_backward,
        autocast=torch.float32,
        vmap=_vmap,
    )
)
_layer_norm_residual_backward = register(
    Operator(
        name="layer_norm_residual_backward",
        reference=partial(_gradients, kept=0),
        fake=_fake_backward,
        check=_check_backward,
        setup_context=_save_backward,
        backward=_backward_of_backward,
        vmap=_vmap_backward,
    )
)
