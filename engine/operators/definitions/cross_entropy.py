"""cross_entropy: one pass over the logits forward, one backward; saved are the logits and two numbers per row."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from engine.operators.checks import dtype_text, expect, expect_device, expect_floating, expect_shape, shape_text
from engine.operators.registration import Operator, register

Reduction = Literal["mean", "sum", "none"]


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
    *,
    reduction: Reduction = "mean",
) -> Tensor:
    """F.cross_entropy of logits (rows, classes) against class indices (rows,) of int64, in the dtype of the logits.

    "mean" is over the rows that are not ignored, so NaN when all are. An ignored row gets a zero gradient, whatever
    its logits. Raises RuntimeError naming the row of a class out of range. Softmax by one pass: Milakov and
    Gimelshein, 2018; label smoothing: Szegedy et al., 2016.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'cross_entropy: expected reduction "mean", "sum" or "none"; received {reduction!r}')
    losses: Tensor = _cross_entropy(logits, target, label_smoothing, ignore_index)[0]
    if reduction != "none":
        losses = losses.sum()
    if reduction == "mean":
        losses = losses / (target != ignore_index).sum()
    return losses if _cast_to_float32(logits) else losses.to(logits.dtype)


def _check(
    logits: Tensor,
    target: Tensor,
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
    op: str = "cross_entropy",
) -> None:
    expect_floating(op, "logits", logits)
    expect(logits.dim() == 2, f"{op}: expected logits of shape (rows, classes); received {shape_text(logits)}")
    expect_device(op, "logits", logits, "target", target)
    wanted = f"{op}: expected target of dtype int64, a class per row"
    expect(target.dtype == torch.int64, f"{wanted}; received {dtype_text(target.dtype)}")
    rows = logits.shape[0]
    wanted = f"{op}: expected target of shape ({rows},), a class per row of logits {shape_text(logits)}"
    expect(target.dim() == 1 and target.shape[0] == rows, f"{wanted}; received {shape_text(target)}")
    wanted = f"{op}: expected label_smoothing between 0 and 1"
    expect(0 <= label_smoothing <= 1, f"{wanted}; received {label_smoothing:g}")


def _check_backward(
    grad: Tensor, logits: Tensor, target: Tensor, normalizer: Tensor, label_smoothing: float, ignore_index: int
) -> None:
    op = "cross_entropy_backward"
    _check(logits, target, label_smoothing, ignore_index, op)
    expect_device(op, "target", target, "grad", grad)
    expect_device(op, "target", target, "normalizer", normalizer)
    expect_shape(op, "target", target, "grad", grad)
    wanted = f"{op}: expected normalizer of shape ({target.shape[0]}, 2), as the forward gives it"
    expect(normalizer.shape == (target.shape[0], 2), f"{wanted}; received {shape_text(normalizer)}")
    for name, x, dtype in (("grad", grad, _arithmetic(logits.dtype)), ("normalizer", normalizer, torch.float64)):
        wanted = f"{op}: expected {name} of dtype {dtype_text(dtype)}"
        expect(x.dtype == dtype, f"{wanted}; received {dtype_text(x.dtype)}")


def _cast_to_float32(logits: Tensor) -> bool:
    return torch.is_autocast_enabled(logits.device.type)


def _arithmetic(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _differences(logits: Tensor, target: Tensor, label_smoothing: float, ignore_index: int) -> tuple[Tensor, Tensor]:
    """Of every row the softmax and the softmax minus the target distribution; zeros where the row is ignored."""
    counts = (target != ignore_index).unsqueeze(-1)
    softmax = torch.where(counts, logits, 0.0).to(_arithmetic(logits.dtype)).softmax(-1)
    classes = torch.arange(logits.shape[-1], device=logits.device)
    one_hot = (target.unsqueeze(-1) == classes).to(softmax.dtype)
    wanted = one_hot * (1 - label_smoothing) + label_smoothing / max(len(classes), 1)
    return softmax * counts, (softmax - wanted) * counts


def _reference(
    logits: Tensor, target: Tensor, label_smoothing: float = 0.0, ignore_index: int = -100
) -> tuple[Tensor, Tensor]:
    wide = logits.to(_arithmetic(logits.dtype))
    losses = torch.nn.functional.cross_entropy(
        wide, target, reduction="none", label_smoothing=label_smoothing, ignore_index=ignore_index
    )
    return losses, torch.where((target == ignore_index).unsqueeze(-1), 0.0, _normalizer(wide.double()))


def _normalizer(logits: Tensor) -> Tensor:
    """Of each row the largest logit and the sum of exp(logit - largest): apart, as beside 1e16 no sum keeps digits."""
    if logits.shape[-1] == 0:
        return logits.new_zeros(len(logits), 2)
    largest = logits.amax(-1, keepdim=True)
    return torch.cat([largest, (logits - largest).exp().sum(-1, keepdim=True)], -1)


def _reference_backward(
    grad: Tensor, logits: Tensor, target: Tensor, normalizer: Tensor, label_smoothing: float, ignore_index: int
) -> Tensor:
    difference = _differences(logits, target, label_smoothing, ignore_index)[1]
    # Where all are ignored the mean hands down NaN.
    counts = (target != ignore_index).unsqueeze(-1)
    return torch.where(counts, grad.unsqueeze(-1) * difference, 0.0).to(logits.dtype)


def _fake(
    logits: Tensor, target: Tensor, label_smoothing: float = 0.0, ignore_index: int = -100
) -> tuple[Tensor, Tensor]:
    rows = logits.shape[0]
    return (
        logits.new_empty(rows, dtype=_arithmetic(logits.dtype)),
        logits.new_empty(rows, 2, dtype=torch.float64),
    )


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    logits, target, ctx.label_smoothing, ctx.ignore_index = inputs
    ctx.save_for_backward(logits, target, output[1])
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, None, None, None]:
    if grad is None:
        return None, None, None, None
    grad_logits = _cross_entropy_backward(grad, *ctx.saved_tensors, ctx.label_smoothing, ctx.ignore_index)
    return grad_logits, None, None, None


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    grad, logits, target, _, ctx.label_smoothing, ctx.ignore_index = inputs
    ctx.save_for_backward(grad, logits, target)


def _backward_of_backward(ctx: Any, upstream: Tensor) -> tuple[Any, ...]:
    """Of grad * (softmax - wanted): by grad and by logits, through torch's operations, so to any order."""
    grad, logits, target = ctx.saved_tensors
    softmax, difference = _differences(logits, target, ctx.label_smoothing, ctx.ignore_index)
    upstream = upstream.to(softmax.dtype)
    grad_logits = grad.unsqueeze(-1) * softmax * (upstream - (softmax * upstream).sum(-1, keepdim=True))
    return (upstream * difference).sum(-1), grad_logits.to(logits.dtype), None, None, None, None


def _rows_first(x: Tensor, dim: int | None, batch: int) -> Tensor:
    """The batch's tensors one below the other."""
    stacked = x.expand(batch, *x.shape) if dim is None else x.movedim(dim, 0)
    return stacked.flatten(0, 1)


def _vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
    batch = info.batch_size
    logits, target = (_rows_first(x, dim, batch) for x, dim in zip(args[:2], in_dims[:2], strict=True))
    found = _cross_entropy(logits, target, *args[2:])
    return tuple(x.unflatten(0, (batch, -1)) for x in found), (0, 0)


def _vmap_backward(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
    batch = info.batch_size
    rows = (_rows_first(x, dim, batch) for x, dim in zip(args[:4], in_dims[:4], strict=True))
    return _cross_entropy_backward(*rows, *args[4:]).unflatten(0, (batch, -1)), 0


_cross_entropy = register(
    Operator(
        name="cross_entropy",
        reference=_reference,
        fake=_fake,
        check=_check,
        setup_context=_save,
        backward=_backward,
        autocast=torch.float32,
        vmap=_vmap,
    )
)
_cross_entropy_backward = register(
    Operator(
        name="cross_entropy_backward",
        reference=_reference_backward,
        fake=lambda grad, logits, *rest: logits.new_empty(logits.shape),
        check=_check_backward,
        setup_context=_save_backward,
        backward=_backward_of_backward,
        vmap=_vmap_backward,
    )
)
