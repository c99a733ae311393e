"""How far two results are apart, in double precision, and whether rounding explains it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from engine.timing.results import Distance

TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}
"""Of the largest absolute value: about a hundred roundings of the wider dtypes, a few of the halves, whose results are
computed wider and rounded once or twice."""


def distance(
    found: Mapping[str, Tensor], other: Mapping[str, Tensor], rounded_to: Iterable[torch.dtype] = ()
) -> Distance:
    """How far `found` is from `other`, the worst over all tensors; not comparable where names or shapes differ.

    `rounded_to` are dtypes of operands or of a mode, which may be coarser than those of the results.
    """
    if reason := _why_not(found, other):
        return Distance(verdict="not comparable", reason=reason)
    dtypes = (*rounded_to, *(x.dtype for x in (*found.values(), *other.values())))
    tolerance = max(TOLERANCES.get(dtype, 0.0) for dtype in dtypes)
    pairs = [(found[name].detach(), other[name].detach()) for name in found]
    if all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs):
        return Distance(verdict="identical", absolute=0.0, relative=0.0, tolerance=tolerance)
    absolute, relative = _worst(pairs)
    if not math.isfinite(absolute):
        return Distance(verdict="different", tolerance=tolerance, reason="not finite in the same places")
    verdict = "equal up to rounding" if relative <= tolerance else "different"
    return Distance(verdict=verdict, absolute=absolute, relative=relative, tolerance=tolerance)  # type: ignore[arg-type]


def _why_not(found: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> str:
    if found.keys() != other.keys():
        return f"one gives {_listed(found)}, the other {_listed(other)}"
    wrong = [name for name in found if found[name].shape != other[name].shape]
    return (
        f"{wrong[0]} is {tuple(found[wrong[0]].shape)} here and {tuple(other[wrong[0]].shape)} there" if wrong else ""
    )


def _listed(found: Mapping[str, Tensor]) -> str:
    names = list(found)
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _worst(pairs: list[tuple[Tensor, Tensor]]) -> tuple[float, float]:
    """(largest absolute distance, largest distance / the largest value of its tensor)."""
    absolute, relative = 0.0, 0.0
    for a, b in pairs:
        if not a.numel():
            continue
        wide, other = a.double(), b.double()
        apart = _largest(torch.where(wide == other, 0.0, wide - other))
        scale = _largest(other)
        absolute = max(absolute, apart) if math.isfinite(apart) else math.inf
        relative = max(relative, apart / scale if scale else (math.inf if apart else 0.0))
    return absolute, relative


def _largest(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x, math.inf))
