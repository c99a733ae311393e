"""One operator at one size: its inputs, every way as something that can be called, and the float64 result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from engine.operator_ladder.row import ATLAS, LadderDtype, Row, Way, Work
from engine.operators.load import load

Inputs = tuple[Any, ...]


@dataclass(frozen=True)
class Prepared:
    """One way, ready to be timed.

    `work` is one call and returns what it made; `results` gives (results, gradients) from the same inputs.
    """

    work: Callable[[], Any]
    results: Callable[[], tuple[list[Tensor], list[Tensor]]]


@dataclass(frozen=True)
class Problem:
    """The inputs of an operator and the gradient of its result, shared by all ways."""

    row: Row
    module: ModuleType
    inputs: Inputs
    with_backward: bool

    def function(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self.module, name)
        return found

    def prepare(self, function: Callable[..., Any]) -> Prepared:
        """A function of the inputs as calls: forward alone, with backward, or one step of an optimizer."""
        if self.row.is_step:
            return _prepare_step(function, self.inputs)
        if not self.with_backward:
            forward = partial(_forward, function, self.inputs)
            return Prepared(forward, lambda: ([forward().detach()], []))
        return _prepare_backward(function, self.inputs)


def build(row: Row, sizes: tuple[int, int, int], dtype: LadderDtype, work: Work, seed: int) -> Problem:
    """The inputs drawn from `seed`."""
    module = import_module(f"engine.operator_ladder.ways.{row.operator}")
    torch.manual_seed(seed)
    return Problem(row, module, module.inputs(*sizes, getattr(torch, dtype)), work != "forward")


def tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in nested tuples and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors(part)


def _forward(function: Callable[..., Any], inputs: Inputs) -> Any:
    with torch.no_grad():
        return function(*inputs)


def _leaves(inputs: Inputs) -> Inputs:
    return tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)


def _prepare_backward(function: Callable[..., Any], inputs: Inputs) -> Prepared:
    leaves = _leaves(inputs)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    upstream = upstream_of(function, inputs)

    def work() -> tuple[Tensor, ...]:
        result = function(*leaves)
        return (result, *torch.autograd.grad(result, wanted, upstream))

    def results() -> tuple[list[Tensor], list[Tensor]]:
        result, *gradients = work()
        return [result.detach()], gradients

    return Prepared(work, results)


def upstream_of(function: Callable[..., Any], inputs: Inputs) -> Tensor:
    """The gradient of the result, the same for every way: a wave, or 1 of a single number."""
    result = _forward(function, inputs)
    if result.dim() == 0:
        return torch.ones_like(result)
    count = torch.arange(result.numel(), dtype=torch.float32)
    return torch.cos(count).reshape(result.shape).to(result.dtype)


def _prepare_step(function: Callable[..., Any], inputs: Inputs) -> Prepared:
    """`function(*lists)` makes a callable that does one step on its own copies."""
    copies = copied(inputs)
    step = function(*copies)

    def results() -> tuple[list[Tensor], list[Tensor]]:
        fresh = copied(inputs)
        function(*fresh)()
        return [x.detach() for x in fresh[0]], []

    return Prepared(step, results)


def copied(value: Any) -> Any:
    """Every tensor in nested tuples and lists as a copy of its own."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    return type(value)(copied(part) for part in value) if isinstance(value, tuple | list) else value


def in_float64(value: Any) -> Any:
    """The same inputs in float64; whole numbers as they are."""
    if isinstance(value, Tensor):
        return value.double() if value.is_floating_point() else value
    return type(value)(in_float64(part) for part in value) if isinstance(value, tuple | list) else value


def reference(problem: Problem) -> tuple[list[Tensor], list[Tensor]]:
    """(results, gradients) in float64 of the inputs as they were rounded to their dtype."""
    exact = Problem(problem.row, problem.module, in_float64(problem.inputs), problem.with_backward)
    return exact.prepare(exact.function(problem.row.reference)).results()


def error_in_eps(got: Sequence[Tensor], wanted: Sequence[Tensor], eps: float) -> float | None:
    """Largest distance / (eps * largest float64 value) over all tensors; None when it is not finite."""
    worst = 0.0
    for one, exact in zip(got, wanted, strict=True):
        if not exact.numel():
            continue
        size = float(exact.abs().max()) or 1.0
        worst = max(worst, float((one.double() - exact).abs().max()) / (eps * size))
    return worst if math.isfinite(worst) else None


class InstructionSets:
    """Runs calls with the loops of a chosen instruction set; switches only where the one in use is another."""

    def __init__(self) -> None:
        self.best: str = torch.ops.atlas.instruction_set() if load().compiled else ""
        """"" where nothing is compiled: then there is one way the operators run, their reference."""
        self._now = self.best

    def use(self, name: str) -> None:
        """RuntimeError in words for one that this processor lacks."""
        if self._now != name:
            torch.ops.atlas.instruction_set(name)
            self._now = name

    def within(self, name: str, call: Callable[[], Any]) -> Callable[[], Any]:
        def work() -> Any:
            self.use(name)
            return call()

        return work

    def of(self, way: Way) -> str:
        """The set a rung runs in: its own, else the best."""
        return ATLAS.get(way.rung, self.best)


@contextmanager
def instruction_sets() -> Iterator[InstructionSets]:
    """Afterwards the best is in use again."""
    sets = InstructionSets()
    try:
        yield sets
    finally:
        sets.use(sets.best)
