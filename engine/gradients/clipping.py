"""clip_gradients: clip_grad_norm_ and clip_grad_value_ on copies of the same gradients."""

from __future__ import annotations

import warnings

import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm

from engine.gradients.distance import Sums
from engine.gradients.leaves import backward, leaves_of, wide
from engine.gradients.results import Clipped, ClippedRow
from engine.gradients.spec import ClippingSpec
from engine.models.build import Built, build
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink
from engine.summarise import summarise

Gradient = dict[str, torch.Tensor]
EPSILON = 1e-6
"""clip_grad_norm_ adds it to the total norm (torch/nn/utils/clip_grad.py)."""


def clip_gradients(spec: ClippingSpec, progress: ProgressSink) -> Clipped:
    """Norms before and after both kinds of clipping, and whether foreach changes anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = build(spec.model)
        progress("backward", 0.2)
        _, error = attempt(lambda: backward(built.loss(built.forward()) * spec.loss_scale))
    before = _parameter_gradients(built)
    _poison(before, spec.poison)
    progress("clipping", 0.6)
    (total, by_norm), norm_error = _by_norm(spec, before)
    by_value, value_error = _by_value(spec, before)
    other, _ = _by_norm(spec, before, foreach=False)
    return Clipped(
        rows=tuple(_row(name, grad, by_norm, by_value, spec.clip_value) for name, grad in before.items()),
        total_after_norm=_total(by_norm, spec.norm_type),
        total_after_value=_total(by_value, spec.norm_type),
        coefficient=None if total is None else coefficient(spec.max_norm, total),
        total_norm=None if total is None else float(total),
        cosine_norm=_cosine(before, by_norm),
        cosine_value=_cosine(before, by_value),
        foreach_difference=_largest_difference(by_norm, other[1]),
        norm_error=norm_error,
        value_error=value_error,
        error=error,
    )


def coefficient(max_norm: float, total: torch.Tensor) -> float:
    """What clip_grad_norm_ multiplies by, in the dtype of its total; nan passes through."""
    return float(torch.clamp(max_norm / (total + EPSILON), max=1.0))


def _parameter_gradients(built: Built) -> Gradient:
    return {
        name: leaf.grad.detach().clone()
        for name, kind, leaf in leaves_of(built)
        if (kind == "parameter" or not any(True for _ in built.model.parameters())) and leaf.grad is not None
    }


def _poison(gradients: Gradient, poison: str) -> None:
    first = next(iter(gradients.values()), None)
    if poison == "nothing" or first is None:
        return
    values = first if first.layout == torch.strided else first.coalesce().values()
    values.reshape(-1)[:1] = float(poison)


def _holders(gradients: Gradient) -> dict[str, torch.Tensor]:
    """Parameters that hold copies of the gradients, for functions that take parameters."""
    holders = {}
    for name, grad in gradients.items():
        holders[name] = torch.empty(grad.shape, dtype=grad.dtype, device=grad.device)
        holders[name].grad = grad.clone()
    return holders


def _by_norm(
    spec: ClippingSpec, gradients: Gradient, foreach: bool | None = None
) -> tuple[tuple[torch.Tensor | None, Gradient | None], PyTorchSaid | None]:
    holders = _holders(gradients)
    total, error = attempt(
        lambda: clip_grad_norm_(
            list(holders.values()),
            spec.max_norm,
            norm_type=float(spec.norm_type),
            error_if_nonfinite=spec.error_if_nonfinite,
            foreach=foreach,
        )
    )
    return (None, None) if total is None else (total, _held(holders)), error


def _by_value(spec: ClippingSpec, gradients: Gradient) -> tuple[Gradient | None, PyTorchSaid | None]:
    holders = _holders(gradients)
    _, error = attempt(lambda: clip_grad_value_(list(holders.values()), spec.clip_value))
    return (None if error else _held(holders)), error


def _held(holders: Gradient) -> Gradient:
    return {name: holder.grad for name, holder in holders.items() if holder.grad is not None}


def _row(
    name: str, grad: torch.Tensor, by_norm: Gradient | None, by_value: Gradient | None, limit: float
) -> ClippedRow:
    after_norm = by_norm[name] if by_norm else None
    after_value = by_value[name] if by_value else None
    flat = wide(grad)
    return ClippedRow(
        name=name,
        norm=float(flat.norm()),
        norm_after_norm=None if after_norm is None else float(wide(after_norm).norm()),
        norm_after_value=None if after_value is None else float(wide(after_value).norm()),
        cosine_norm=_cosine({name: grad}, by_norm),
        cosine_value=_cosine({name: grad}, by_value),
        clipped_share=float((flat.abs() > limit).double().mean()) if flat.numel() else 0.0,
        before=summarise(grad),
        after_norm=None if after_norm is None else summarise(after_norm),
        after_value=None if after_value is None else summarise(after_value),
    )


def _cosine(before: Gradient, after: Gradient | None) -> float | None:
    sums = Sums()
    for name, grad in before.items():
        if after is not None:
            sums.add(wide(grad), wide(after[name]), identical=False)
    return sums.distance("").cosine


def _total(gradients: Gradient | None, norm_type: str) -> float | None:
    if not gradients:
        return None
    total, _ = attempt(lambda: get_total_norm(list(gradients.values()), float(norm_type)))  # refuses sparse ones
    return None if total is None else float(total)


def _largest_difference(a: Gradient | None, b: Gradient | None) -> float | None:
    if a is None or b is None:
        return None
    return max(
        (float((wide(a[name]) - wide(b[name])).abs().nan_to_num().max()) for name in a if a[name].numel()), default=0.0
    )
