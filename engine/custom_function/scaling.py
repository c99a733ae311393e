"""How backward scales with the gradient it is given: 0 gives 0, k g gives k times as much, sums give sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from engine.custom_function.building import Made, Tensors

FACTORS = (100.0, -1.0, 0.01)
Grads = list[torch.Tensor | None]


class Scaling(NamedTuple):
    """A broken law of linearity: the law, its left and right side in words, and how far they are apart, relative."""

    law: str
    left: str
    right: str
    off: float


def _gradients(made: Made, inputs: Tensors, seed_of: Callable[[torch.Tensor], torch.Tensor]) -> Grads:
    leaves = [one for one in inputs if one.requires_grad]
    torch.manual_seed(0)
    used = [one for one in made.call(*inputs) if one.requires_grad]
    torch.manual_seed(0)
    return list(torch.autograd.grad(used, leaves, [seed_of(one) for one in used], allow_unused=True))


def _filled(scale: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda one: torch.full_like(one, scale, requires_grad=False)


def constant_part(made: Made, inputs: Tensors) -> float:
    """Largest finite entry of backward(0), which is 0 for every derivative."""
    found = [one for one in _gradients(made, inputs, _filled(0.0)) if one is not None and one.numel()]
    return max((float(torch.nan_to_num(one.abs(), 0.0, 0.0).max()) for one in found), default=0.0)


def linearity(made: Made, inputs: Tensors, factor: float) -> float:
    """Largest difference between backward(factor * g) and factor * backward(g), relative to the larger of them."""
    ones = _gradients(made, inputs, _filled(1.0))
    return _apart(_gradients(made, inputs, _filled(factor)), [None if one is None else factor * one for one in ones])


def additivity(made: Made, inputs: Tensors) -> float:
    """Largest difference between backward(g + h) and backward(g) + backward(h), of random g and h, relative."""
    first = _gradients(made, inputs, _random)
    second = _gradients(made, inputs, lambda one: _random(one).flip(0) if one.dim() else -2 * _random(one))
    both = _gradients(
        made, inputs, lambda one: _random(one) + (_random(one).flip(0) if one.dim() else -2 * _random(one))
    )
    sums = [None if a is None or b is None else a + b for a, b in zip(first, second, strict=True)]
    return _apart(both, sums)


def _random(like: torch.Tensor) -> torch.Tensor:
    """The same numbers of both signs for one output at every call."""
    generator = torch.Generator().manual_seed(like.numel())
    return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like.dtype)


def _apart(ones: Grads, others: Grads) -> float:
    worst = 0.0
    for one, other in zip(ones, others, strict=True):
        if one is not None and other is not None and one.numel():
            scale = max(float(one.abs().max()), float(other.abs().max()), 1e-300)
            worst = max(worst, float((one - other).abs().max()) / scale)
    return worst


def broken_law(made: Made, inputs: Tensors, allowed: float) -> Scaling | None:
    """The law of linearity that backward breaks by more than `allowed`."""
    for factor in FACTORS:
        off = linearity(made, inputs, factor)
        if off > allowed:
            left = "-g" if factor == -1 else f"{factor:g} g"
            right = "-backward(g)" if factor == -1 else f"{factor:g} backward(g)"
            return Scaling("factor" if factor > 0 else "sign", f"backward({left})", right, off)
    off = additivity(made, inputs)
    return Scaling("sum", "backward(g + h)", "backward(g) + backward(h)", off) if off > allowed else None
