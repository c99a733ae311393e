"""Gradients by power of two, and what becomes of them when they are converted for real."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch

from engine.grad_scaler.results import BestScale, Range, Share, Spread
from engine.recorded_grad_scaler import values_of

FORMATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
SWEEP = tuple(range(-16, 41))
"""Exponents of the scales tried."""


def range_of(name: str) -> Range:
    """What torch.finfo says of a format."""
    info = torch.finfo(getattr(torch, name))
    return Range(
        dtype=name,
        largest=info.max,
        smallest_normal=info.smallest_normal,
        smallest_subnormal=info.smallest_normal * info.eps,
    )


Source = Literal["parameters", "activations"]


class Collected:
    """Gradients of one source over a run; steps are left out where there would be more than can be converted."""

    def __init__(self, source: Source, most: float) -> None:
        self.source, self.most = source, most
        self.gradients: list[torch.Tensor] = []
        self.steps: list[int] = []

    def add(self, step: int, found: list[torch.Tensor]) -> None:
        """Those before a step; of the first step in any case."""
        if found and (not self.steps or sum(one.numel() for one in [*self.gradients, *found]) <= self.most):
            self.gradients += found
            self.steps.append(step)


def spread_of(collected: Collected, scales: tuple[float, ...]) -> Spread:
    """Counts by power of two, shares of every format at `scales`, and the power of two that loses least."""
    flat = [values_of(one).detach().reshape(-1).float() for one in collected.gradients]
    values = torch.cat(flat) if flat else torch.zeros(0)
    finite = values[values.isfinite() & (values != 0)]
    exponents, counts = torch.unique(torch.frexp(finite).exponent - 1, return_counts=True)
    return Spread(
        source=collected.source,
        steps=tuple(collected.steps),
        elements=values.numel(),
        zeros=int((values == 0).sum()),
        non_finite=int((~values.isfinite()).sum()),
        exponents=tuple(exponents.tolist()),
        counts=tuple(counts.tolist()),
        shares=tuple(share_of(finite, name, scale) for scale in scales for name in FORMATS),
        best=tuple(_best(finite, name) for name in FORMATS),
        sweep=SWEEP,
    )


def share_of(values: torch.Tensor, name: str, scale: float) -> Share:
    """Counts over `values` (float32, finite, not 0), each multiplied with `scale` and converted with `.to`."""
    return _shares(values, name, (scale,))[0]


def _shares(values: torch.Tensor, name: str, scales: Sequence[float]) -> list[Share]:
    """The same for each scale, converted together."""
    dtype: torch.dtype = getattr(torch, name)
    info = torch.finfo(dtype)
    scaled = values.abs() * torch.tensor(scales, dtype=values.dtype).unsqueeze(1)
    became = scaled.to(dtype).float()
    overflow = (~became.isfinite()).sum(1).tolist()
    to_zero = (became == 0).sum(1).tolist()
    saturated = ((became == info.max) & (scaled > _rounds_to_largest(info))).sum(1).tolist()
    subnormal = ((became > 0) & (became < info.smallest_normal)).sum(1).tolist()
    return [
        Share(
            dtype=name,
            scale=scale,
            to_zero=to_zero[place],
            subnormal=subnormal[place],
            normal=values.numel() - overflow[place] - to_zero[place] - saturated[place] - subnormal[place],
            overflow=overflow[place],
            saturated=saturated[place],
        )
        for place, scale in enumerate(scales)
    ]


def _rounds_to_largest(info: torch.finfo) -> float:
    """Half a spacing above the largest number: up to here rounding to nearest gives it."""
    return float(info.max + 2.0 ** math.floor(math.log2(info.max)) * info.eps / 2)


def _best(values: torch.Tensor, name: str) -> BestScale:
    shares = _shares(values, name, [2.0**exponent for exponent in SWEEP])
    least = min(one.lost for one in shares)
    fewest = min(one.subnormal for one in shares if one.lost == least)
    good = [e for e, one in zip(SWEEP, shares, strict=True) if one.lost == least]
    finest = [e for e, one in zip(SWEEP, shares, strict=True) if one.lost == least and one.subnormal == fewest]
    return BestScale(
        dtype=name,
        exponent=min(finest, key=abs),
        low=good[0],
        high=good[-1],
        lost=least,
        swept=tuple(one.lost for one in shares),
    )
