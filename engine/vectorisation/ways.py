"""Which function computes a problem on which rung, on what inputs, and what it should give."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import torch

from engine.vectorisation import problems
from engine.vectorisation.spec import PlainRung, Problem, RungName

Way = Callable[..., torch.Tensor]
Inputs = dict[str, torch.Tensor]


def way_of(problem: Problem, rung: RungName) -> Way | None:
    """The function of engine/vectorisation/problems.py; None where the problem is not written that way."""
    found: Way | None = getattr(problems, f"{problem}_{rung.replace(' ', '_')}", None)
    return found


def plain_rungs() -> tuple[PlainRung, ...]:
    """The rungs in order, from the loop over elements up."""
    return get_args(PlainRung)


def make_inputs(problem: Problem, rows: int, columns: int, dtype: torch.dtype, seed: int) -> Inputs:
    """Normal values, by argument name of the problem's functions."""
    shapes: dict[Problem, dict[str, tuple[int, ...]]] = {
        "weighted_row_sum": {"x": (rows, columns), "weights": (columns,)},
        "matmul": {"a": (rows, columns), "b": (columns, rows)},
        "pairwise_distance": {"x": (rows, columns), "y": (rows, columns)},
        "outer_sum": {"u": (rows,), "v": (columns,)},
        "squared_diagonal": {"m": (rows, rows)},
    }
    torch.manual_seed(seed)
    return {name: torch.randn(shape, dtype=dtype) for name, shape in shapes[problem].items()}


def reference(problem: Problem, inputs: Inputs) -> torch.Tensor:
    """The same computation in float64, in a way that keeps small differences."""
    wide = [tensor.detach().double() for tensor in inputs.values()]
    if problem == "pairwise_distance":
        return torch.cdist(wide[0], wide[1], compute_mode="donot_use_mm_for_euclid_dist")
    way = way_of(problem, "broadcast" if problem in ("outer_sum", "squared_diagonal") else "matmul")
    assert way is not None
    return way(*wide)


def errors(result: torch.Tensor, wanted: torch.Tensor) -> tuple[float, float]:
    """(max absolute, max relative) error; relative where the reference is not 0. (0, 0) of nothing."""
    apart = (result.detach().double() - wanted).abs()
    if not apart.numel():
        return 0.0, 0.0
    relative = (apart / wanted.abs())[wanted != 0]
    return float(apart.max()), float(relative.max()) if relative.numel() else 0.0
