"""PyTorch's own checks of an operator, run now: opcheck's four, gradcheck, gradgradcheck."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from engine.operator_ladder.catalogue import CATALOGUE
from engine.operator_ladder.problem import Inputs, build, copied, in_float64, upstream_of
from engine.operator_ladder.results import Check, CheckOutcome, OperatorChecks, WorstEntry
from engine.operator_ladder.row import Row
from engine.operator_ladder.spec import OperatorChecksSpec
from engine.operators.library import schemas
from engine.operators.load import load
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

SMALL = (3, 4, 2)
"""Rows, columns and inner of the inputs that are checked."""
STEP = 1e-6

OPCHECKS = {
    "test_schema": "Does it write only what its schema says, and return no alias?",
    "test_autograd_registration": "Is its gradient registered where autograd looks for it?",
    "test_faketensor": "Does the fake give the shapes, strides and dtypes of the real one?",
    "test_aot_dispatch_dynamic": "Same values and gradients when traced by AOTAutograd with dynamic shapes?",
}
GRADIENTS = {
    "gradcheck": "Is backward the derivative of forward, by central differences in float64?",
    "gradgradcheck": "And the derivative of backward?",
}
"""Name -> what it asks."""


NOT_TWICE = "not twice differentiable"

Function = Callable[..., Any]
Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


def check_operator(spec: OperatorChecksSpec, progress: ProgressSink) -> OperatorChecks:
    """Every verdict, with PyTorch's words where one fails."""
    row, loaded, checks = CATALOGUE[spec.operator], load(), list[Check]()
    problem = build(row, SMALL, "float32", "forward", spec.seed)
    function, exact = problem.function(row.way_function), in_float64(problem.inputs)
    calls = _calls_of(row, function, problem.inputs)
    for number, (name, asks) in enumerate(OPCHECKS.items()):
        progress(f"opcheck: {name}", number / 6)
        checks.append(_timed(name, asks, partial(_opcheck, name, calls)))
    for number, (name, asks) in enumerate(GRADIENTS.items()):
        progress(name, (4 + number) / 6)
        if row.backward is None:
            checks.append(Check(name=name, asks=asks, outcome="does not apply", reason="it has no backward"))
        else:
            check = getattr(torch.autograd, name)
            checks.append(_timed(name, asks, partial(check, function, _leaves(exact))))
    return OperatorChecks(
        checks=tuple(checks),
        worst=None if row.backward is None else worst_entry(function, exact),
        schema=f"{row.operator}{schemas()[row.operator]}",
        is_compiled=loaded.compiled,
    )


def _timed(name: str, asks: str, call: Callable[[], Any]) -> Check:
    start = time.perf_counter()
    _, refused = attempt(call)
    seconds = time.perf_counter() - start
    if refused is None:
        return Check(name=name, asks=asks, outcome="passed", seconds=seconds)
    outcome: CheckOutcome = "refused" if NOT_TWICE in refused.message else "failed"
    return Check(name=name, asks=asks, outcome=outcome, said=refused, seconds=seconds)


def _opcheck(name: str, calls: list[Call]) -> None:
    if not calls:
        raise RuntimeError("no call of torch.ops.atlas was seen, so there is nothing to check")
    for function, args, kwargs in calls:
        torch.library.opcheck(function, args, kwargs, test_utils=name)


class _Calls(TorchFunctionMode):
    """Keeps the calls of torch.ops.atlas that a Python function makes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Call] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(func).startswith("atlas."):
            self.seen.append((getattr(func, "default", func), args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def _calls_of(row: Row, function: Function, inputs: Inputs) -> list[Call]:
    with _Calls() as calls:
        if row.is_step:
            function(*copied(inputs))()
        else:
            function(*(_leaves(inputs) if row.backward else inputs))
    seen: list[Call] = calls.seen
    return seen


def _leaves(inputs: Inputs) -> Inputs:
    return tuple(x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs)


def worst_entry(function: Function, inputs: Inputs) -> WorstEntry:
    """Where the gradient of a sum and its central difference are furthest apart, over all floating inputs."""
    leaves = _leaves(inputs)
    upstream = upstream_of(function, inputs)
    wanted = [number for number, leaf in enumerate(leaves) if leaf.requires_grad]
    gradients = torch.autograd.grad(function(*leaves), [leaves[number] for number in wanted], upstream)
    found = []
    for number, gradient in zip(wanted, gradients, strict=True):
        for flat in range(gradient.numel()):
            index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), gradient.shape))
            quotient = _difference_quotient(function, inputs, number, index, upstream)
            value, told = float(inputs[number][index]), float(gradient[index])
            found.append(
                WorstEntry(input=number, index=index, value=value, backward=told, difference_quotient=quotient)
            )
    return max(found, key=lambda entry: abs(entry.backward - entry.difference_quotient))


def _difference_quotient(
    function: Function, inputs: Inputs, number: int, index: tuple[int, ...], upstream: Tensor
) -> float:
    ends = []
    for step in (STEP, -STEP):
        moved = [x.detach().clone() for x in inputs]
        moved[number][index] += step
        with torch.no_grad():
            ends.append(float((function(*moved) * upstream).sum()))
    return (ends[0] - ends[1]) / (2 * STEP)
