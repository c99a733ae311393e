"""Which rungs can be run at a size: loops are tried on a small part first, large intermediates predicted."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from engine.runner.contract import GIBIBYTE
from engine.runner.faults import size
from engine.vectorisation.formulas import count, loop_steps
from engine.vectorisation.spec import NOT_WRITTEN, PlainRung, Problem
from engine.vectorisation.ways import Inputs, Way, make_inputs, plain_rungs, way_of

LOOP_LIMIT_S = 0.25
"""A loop that would take longer per call is not run: it is called some twenty times."""
INTERMEDIATE_LIMIT_BYTES = GIBIBYTE
TRIED_ROWS, TRIED_COLUMNS = 4, 8

INTERMEDIATES: dict[Problem, tuple[int, str]] = {
    "weighted_row_sum": (1, "rows * columns"),
    "matmul": (1, "rows * rows * columns"),
    "pairwise_distance": (2, "rows * rows * columns"),
    "outer_sum": (0, "rows"),
    "squared_diagonal": (1, "rows"),
}
"""Tensors of so many elements that broadcasting holds at once beside inputs and output."""


@dataclass(frozen=True)
class Planned:
    """A rung at one size: its function, or why it is left out; `estimated_s` of a loop too long to run."""

    name: PlainRung
    way: Way | None
    steps: int | None = None
    reason: str = ""
    estimated_s: float | None = None


def plan(problem: Problem, rows: int, columns: int, inputs: Inputs, limit_s: float = LOOP_LIMIT_S) -> list[Planned]:
    """Every plain rung in order."""
    return [_plan_one(problem, rung, rows, columns, inputs, limit_s) for rung in plain_rungs()]


def _plan_one(problem: Problem, rung: PlainRung, rows: int, columns: int, inputs: Inputs, limit_s: float) -> Planned:
    way, steps = way_of(problem, rung), loop_steps(problem, rung, rows, columns)
    if way is None:
        return Planned(rung, None, reason=f"not written: {NOT_WRITTEN[problem, rung]}")
    if steps is not None:
        step_s = _seconds_per_step(problem, rung, way, inputs)
        if steps * step_s > limit_s:
            reason = (
                f"would take about {steps * step_s:.3g} s per call, estimated: {steps:,} steps of {1e6 * step_s:.3g} µs"
                f" each; loops over {limit_s} s are not run"
            )
            return Planned(rung, None, steps, reason, steps * step_s)
    needed = intermediate_bytes(problem, rows, columns, next(iter(inputs.values())).itemsize)
    if rung == "broadcast" and needed > INTERMEDIATE_LIMIT_BYTES:
        reason = (
            f"its intermediate of {INTERMEDIATES[problem][1]} elements needs {size(needed)} at once; the limit is "
            f"{size(INTERMEDIATE_LIMIT_BYTES)}"
        )
        return Planned(rung, None, reason=reason)
    return Planned(rung, way, steps)


def intermediate_bytes(problem: Problem, rows: int, columns: int, itemsize: int) -> int:
    """Most bytes that the broadcast rung holds beside inputs and output, estimated."""
    many, shape = INTERMEDIATES[problem]
    return many * count(shape, rows, columns) * itemsize


def _seconds_per_step(problem: Problem, rung: PlainRung, way: Way, inputs: Inputs) -> float:
    """CPU seconds of one step, from the second call on a few rows (all columns for a loop over rows)."""
    if rung == "row loop":
        first, *rest = inputs.values()
        part = [first[:TRIED_ROWS], *rest]
        steps = part[0].size(0)
    else:
        rows, columns = min(TRIED_ROWS, _rows(inputs)), TRIED_COLUMNS
        part = list(make_inputs(problem, rows, columns, next(iter(inputs.values())).dtype, seed=0).values())
        steps = loop_steps(problem, rung, rows, columns) or 1
    with torch.no_grad():
        way(*part)
        start = time.thread_time()
        way(*part)
        return (time.thread_time() - start) / steps


def _rows(inputs: Inputs) -> int:
    return next(iter(inputs.values())).size(0)
