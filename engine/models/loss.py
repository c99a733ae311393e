"""The scalar a backward starts from."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from engine.models.architecture import TwoTower
from engine.models.spec import ModelSpec


def model_loss(spec: ModelSpec, outputs: Any, target: torch.Tensor | None) -> torch.Tensor:
    """Sum, mean or cross entropy over the outputs that count; complex outputs count by their real part.

    A scalar output is its own loss. Raises ValueError when no output is floating point or complex.
    """
    used = floating(outputs)
    if isinstance(spec.architecture, TwoTower) and not spec.architecture.use_auxiliary_loss:
        used = floating(outputs["logits"])
    if not used:
        raise ValueError("a loss needs a floating point or complex output; received none. Return one from forward.")
    if spec.loss == "cross_entropy" and target is not None:
        logits, rest = used[0].flatten(0, -2), used[1:]  # (N, ..., C) -> (N', C)
        return sum((x.mean() for x in rest), F.cross_entropy(logits, target.flatten()))
    first, *rest = (reduced(x, spec.loss) for x in used)
    return sum(rest, first)


def floating(outputs: Any) -> list[torch.Tensor]:
    """The floating point and complex tensors in a tensor, tuple, list or dict, in order."""
    if isinstance(outputs, torch.Tensor):
        return [outputs] if outputs.is_floating_point() or outputs.is_complex() else []
    values = outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, list | tuple) else ()
    return [tensor for value in values for tensor in floating(value)]


def reduced(x: torch.Tensor, how: str) -> torch.Tensor:
    """`x` summed or averaged to a scalar; a scalar stays as it is."""
    if x.is_complex():
        x = x.real
    if x.dim() == 0:
        return x
    return x.mean() if how == "mean" else x.sum()
