"""The tests a verdict rests on: repeats, kinks, overlaps, linearity, ratios, each a plain question with an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from engine.custom_function import jacobians, slopes
from engine.custom_function.building import Made, Tensors, make_inputs
from engine.custom_function.jacobians import Pair
from engine.custom_function.spec import CustomFunctionSpec
from engine.pytorch_said import PyTorchSaid, attempt

SAFE_EPS, SAFE_ATOL, SAFE_RTOL = 1e-6, 1e-5, 1e-3
"""gradcheck's defaults, made for float64."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def overlaps(tensor: torch.Tensor) -> bool:
    """Whether two indices of a tensor read the same memory."""
    if tensor.numel() < 2:
        return False
    offsets = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = offsets[..., None] + torch.arange(size) * stride
    return len(set(offsets.reshape(-1).tolist())) < tensor.numel()


def repeat_difference(made: Made, inputs: Tensors) -> float:
    """Largest difference between the Jacobians of two backward passes over the same inputs."""
    first, second = (jacobians.analytical(made.call, inputs) for _ in range(2))
    apart = [np.abs(np.nan_to_num(first[key]) - np.nan_to_num(second[key])) for key in first]
    return max((float(one.max(initial=0.0)) for one in apart), default=0.0)


def differentiated_twice(made: Made, inputs: Tensors) -> PyTorchSaid | None:
    """What PyTorch says to a backward through backward, all gradients requiring grad; None when it runs.

    gradgradcheck asks for single gradients, and there a once_differentiable backward raises nothing: it gives zeros.
    """
    used = [one for one in made.call(*inputs) if one.requires_grad]
    leaves = [one for one in inputs if one.requires_grad]
    seeds = [torch.ones_like(one).requires_grad_() for one in used]
    grads = torch.autograd.grad(used, leaves, seeds, create_graph=True, allow_unused=True)
    again = [one for one in grads if one is not None and one.requires_grad]
    return attempt(lambda: torch.autograd.backward(again, [torch.ones_like(one) for one in again]))[1]


@dataclass(frozen=True)
class Settled:
    """Jacobians in the widest dtype with gradcheck's own settings: what is left of a mismatch is not rounding."""

    inputs: Tensors
    pairs: list[Pair]
    outside: list[Mask]

    @property
    def mismatches(self) -> int:
        return sum(int(mask.sum()) for mask in self.outside)


def settle(spec: CustomFunctionSpec, made: Made) -> Settled:
    """Both Jacobians once more in float64 (complex128) with eps 1e-6."""
    inputs = wide_inputs(spec)
    found = jacobians.pairs(made.call, inputs, SAFE_EPS)
    return Settled(inputs, found, [pair.outside(SAFE_ATOL, SAFE_RTOL) for pair in found])


def wide_inputs(spec: CustomFunctionSpec) -> Tensors:
    return make_inputs(spec, "complex128" if spec.dtype == "complex128" else "float64")


def refine(made: Made, settled: Settled, masks: list[Mask] | None = None) -> tuple[Settled, list[jacobians.Matrix]]:
    """The columns of `masks` (of the mismatches) by the step at which each entry has settled, and what stays open.

    For functions that change within eps; an entry that is not finite is left as it is.
    """
    pairs = [Pair(pair.output, pair.input, pair.analytical, pair.numerical.copy()) for pair in settled.pairs]
    errors = [np.zeros_like(pair.numerical) for pair in pairs]
    for one, column in columns_of(settled.pairs, settled.outside if masks is None else masks):
        found = slopes.settled_slopes(made.call, settled.inputs, one, column)
        for pair, error in zip(pairs, errors, strict=True):
            if pair.input == one:
                new = found[pair.output]
                finite = np.isfinite(new.slopes) & np.isfinite(pair.numerical[:, column])
                pair.numerical[finite, column] = new.slopes[finite]
                error[finite, column] = new.error[finite]
    return Settled(settled.inputs, pairs, [pair.outside(SAFE_ATOL, SAFE_RTOL) for pair in pairs]), errors


def columns_of(pairs: list[Pair], masks: list[Mask]) -> list[tuple[int, int]]:
    """(input, column) with an entry in a mask, each once, in order."""
    found = [
        (pair.input, int(column))
        for pair, mask in zip(pairs, masks, strict=True)
        for column in np.flatnonzero(np.any(mask, axis=0))
    ]
    return sorted(set(found))


def not_finite(settled: Settled) -> set[tuple[int, int]]:
    """(input, column) of mismatches where the differences are NaN or infinite."""
    masks = [mask & ~np.isfinite(p.numerical) for p, mask in zip(settled.pairs, settled.outside, strict=True)]
    return set(columns_of(settled.pairs, masks))


def backward_not_finite(settled: Settled) -> set[tuple[int, int]]:
    """(input, column) of mismatches where backward is NaN or infinite and the differences are finite."""
    masks = [
        mask & np.isfinite(p.numerical) & ~np.isfinite(p.analytical)
        for p, mask in zip(settled.pairs, settled.outside, strict=True)
    ]
    return set(columns_of(settled.pairs, masks))


def kinks(made: Made, settled: Settled) -> set[tuple[int, int]]:
    """(input, column) of mismatches where left and right differences stay apart however small the step."""
    columns = [
        place for place in columns_of(settled.pairs, settled.outside) if not settled.inputs[place[0]].is_complex()
    ]
    return {place for place in columns if slopes.is_kink(made.call, settled.inputs, *place)}


def without(settled: Settled, places: set[tuple[int, int]]) -> list[Mask]:
    """The mismatches outside of these columns."""
    left = []
    for pair, mask in zip(settled.pairs, settled.outside, strict=True):
        kept = mask.copy()
        for one, column in places:
            if one == pair.input:
                kept[:, column] = False
        left.append(kept)
    return left


def formula_jacobians(made: Made, settled: Settled) -> dict[tuple[int, int], jacobians.Matrix] | None:
    """Jacobians of the forward formula in plain operations by autograd; None where there is none."""
    if made.plain is None or made.plain is made.call:
        return None
    plain = made.plain
    return attempt(lambda: jacobians.analytical(plain, settled.inputs))[0]


def is_clipped(settled: Settled, formula: dict[tuple[int, int], jacobians.Matrix], limit: float) -> bool:
    """Whether backward is the formula's derivative clamped to [-limit, limit], entry by entry."""
    return all(
        np.allclose(pair.analytical, np.clip(formula[pair.output, pair.input], -limit, limit), SAFE_RTOL, SAFE_ATOL)
        for pair in settled.pairs
        if (pair.output, pair.input) in formula
    )


def numeric_is_right(settled: Settled, formula: dict[tuple[int, int], jacobians.Matrix], left: list[Mask]) -> bool:
    """Whether differences agree with autograd's derivative of the formula at the mismatches."""
    return all(
        np.allclose(pair.numerical[mask], formula[pair.output, pair.input][mask], SAFE_RTOL, SAFE_ATOL)
        for pair, mask in zip(settled.pairs, left, strict=True)
        if (pair.output, pair.input) in formula
    )


def ratio_words(settled: Settled, left: list[Mask], floor: float = SAFE_ATOL) -> str:
    """How backward relates to the differences at the mismatches: a constant factor, flipped signs, a range.

    Entries whose differences are at most `floor` count as 0.
    """
    ours = np.concatenate([pair.analytical[mask] for pair, mask in zip(settled.pairs, left, strict=True)])
    true = np.concatenate([pair.numerical[mask] for pair, mask in zip(settled.pairs, left, strict=True)])
    nonzero = np.abs(true) > floor
    if not nonzero.any():
        return f"analytical is {_range(ours)} where numerical is 0"
    ratios = ours[nonzero] / true[nonzero]
    if any(one.is_complex() for one in settled.inputs) and (words := _conjugate_words(settled, left)):
        return words
    if np.ptp(ratios) <= SAFE_RTOL * np.abs(ratios).max():
        everywhere = _everywhere(settled, left, floor)
        return f"analytical is {_short(float(ratios.mean()))}x numerical {everywhere}"
    return f"analytical is between {_short(float(ratios.min()))}x and {_short(float(ratios.max()))}x numerical"


def _conjugate_words(settled: Settled, left: list[Mask]) -> str:
    """That only signs differ, of some entries and not of others, as where the derivative was not conjugated."""
    ours = np.concatenate([pair.analytical.ravel() for pair in settled.pairs])
    true = np.concatenate([pair.numerical.ravel() for pair in settled.pairs])
    signs = np.sign(ours * true)[np.abs(true) > SAFE_ATOL]
    same_size = np.allclose(np.abs(ours), np.abs(true), SAFE_RTOL, SAFE_ATOL)
    if not same_size or len(np.unique(signs)) < 2:
        return ""
    wrong = sum(int(mask.sum()) for mask in left)
    return (
        f"the signs of {wrong} of {signs.size} entries differ and no magnitude does: a .conj() is missing in backward"
    )


def _everywhere(settled: Settled, left: list[Mask], floor: float) -> str:
    """ "everywhere", or at how many of the entries that are not 0."""
    nonzero = [np.abs(pair.numerical) > floor for pair in settled.pairs]
    wrong = sum(int((mask & one).sum()) for one, mask in zip(nonzero, left, strict=True))
    count = sum(int(one.sum()) for one in nonzero)
    return "everywhere" if wrong >= count else f"at {wrong} of {count} entries that are not 0"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _range(values: np.ndarray[Any, Any]) -> str:
    low, high = float(values.min()), float(values.max())
    return _short(low) if low == high else f"{_short(low)} to {_short(high)}"
