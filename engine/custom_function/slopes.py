"""Slopes of forward by steps that shrink from 1e-4 to 5e-10: where they settle, and where both sides stay apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engine.custom_function import jacobians
from engine.custom_function.building import Tensors

STEPS = tuple(2.0**-power for power in range(13, 32, 3))
"""Powers of 2, so that x + step is exact for x of ordinary size."""
RATIO = 8.0
SAFE = 64.0
"""How many roundings of the output a difference must be larger than to say anything."""
Column = np.ndarray[Any, np.dtype[np.float64]]


class Settled(NamedTuple):
    """Central differences of an output by one element at the step where each moves least, and what is open in them.

    `error`: how far they still moved, and what rounding of the output does at that step.
    """

    slopes: Column
    error: Column


def settled_slopes(call: Callable[..., Tensors], inputs: Tensors, one: int, column: int) -> list[Settled]:
    """One column of the Jacobian of every output, by the step at which each entry has settled."""
    found = []
    here = [np.abs(value) for value in _values(call, inputs)]
    ladders = zip(*(jacobians.central(call, inputs, one, column, step) for step in STEPS), strict=True)
    for ladder, size in zip(ladders, here, strict=True):
        values = np.array(ladder)
        with np.errstate(invalid="ignore"):
            moves = np.nan_to_num(np.abs(np.diff(values, axis=0)), nan=np.inf)
        best = moves.argmin(axis=0)
        across = np.arange(values.shape[1])
        rounding = 4 * np.finfo(np.float64).eps * size / np.array(STEPS[1:])[best]
        found.append(Settled(values[1:][best, across], 4 * moves[best, across] + rounding))
    return found


def is_kink(call: Callable[..., Tensors], inputs: Tensors, one: int, column: int) -> bool:
    """Whether left and right differences stay apart, or one-sided ones grow, down to the last step above rounding.

    Where a function is smooth, the gap shrinks as the step does once the step is below the function's own scale.
    """
    sides = [jacobians.one_sided(call, inputs, one, column, step) for step in STEPS]
    index = np.unravel_index(column, tuple(inputs[one].shape))
    place = abs(float(inputs[one].detach()[index]))
    size_here = np.array([np.abs(value).max(initial=0.0) for value in _values(call, inputs)]).max(initial=0.0)
    gaps, sizes = [], []
    for (gap, size), step in zip(sides, STEPS, strict=True):
        noise = SAFE * np.finfo(np.float64).eps * (size_here + place * size) / step
        gaps += [gap] if gap > noise else []
        sizes += [size] if size > noise else []
    grows = len(sizes) > 1 and sizes[-1] > 2 * sizes[-2] and sizes[-1] > 1e-5
    return grows or (len(gaps) > 1 and gaps[-1] > 0.5 * gaps[-2] and gaps[-1] > 1e-3 * sides[-1][1])


def _values(call: Callable[..., Tensors], inputs: Tensors) -> jacobians.Values:
    return [jacobians.flat(output) for output in jacobians.forward_values(call, inputs)]
