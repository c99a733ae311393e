"""What arrives at every leaf, use by use, and what AccumulateGrad makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from engine import recorded_replay
from engine.replay.gradients import Gradients
from engine.replay.spec import Accumulation, HookCall
from engine.replay.sums import added, same_bits

SEED = -1
"""Stands for the engine run, and for the step, of a root's own gradient."""


class LeafTensor(NamedTuple):
    """The tensor an AccumulateGrad belongs to, and its name."""

    name: str
    variable: torch.Tensor


@dataclass
class Arrivals:
    """The gradients waiting for one AccumulateGrad in one run of the engine: where from, and their sum so far."""

    contributions: list[tuple[int, int]] = field(default_factory=list)
    total: torch.Tensor | None = None

    def add(self, step: int, output_nr: int, gradient: torch.Tensor) -> None:
        self.contributions.append((step, output_nr))
        if self.total is None:
            self.total = gradient.detach()
        else:
            self.total = added(self.total, gradient)


@dataclass
class Waiting:
    """One AccumulateGrad between its first hook and its last."""

    leaf: LeafTensor
    arrivals: Arrivals
    before: int | None
    expected: torch.Tensor | None
    """What `.grad` must become, by our own addition."""
    received: int | None
    changed_by_hook: bool


class Accumulations:
    """Watches the leaves; `done` and `hook_calls` are the rows."""

    def __init__(self, gradients: Gradients) -> None:
        self.done: list[Accumulation] = []
        self.hook_calls: list[HookCall] = []
        self._gradients = gradients
        self._arrivals: dict[tuple[int, int], Arrivals] = {}
        self._waiting: dict[int, Waiting] = {}

    def arrive(self, task: int, node: int, step: int, output_nr: int, gradient: torch.Tensor) -> None:
        """Gradient output `output_nr` of `step` is on its way to AccumulateGrad `node` in engine run `task`."""
        self._of(task, node).add(step, output_nr, gradient)

    def begin(self, task: int, node: int, step: int, leaf: LeafTensor, gradient: torch.Tensor | None) -> None:
        """AccumulateGrad `node` is about to run with `gradient`, its tensor hooks behind it."""
        arrivals = self._of(task, node)
        del self._arrivals[task, node]
        grad = leaf.variable.grad
        received = None if gradient is None else self._gradients.index(gradient)
        changed = not _same(arrivals.total, gradient)
        if recorded_replay.has_tensor_hooks(leaf.variable):
            came = None if arrivals.total is None else self._of_total(arrivals.total, changed, received)
            self.hook_calls.append(HookCall(step, "tensor hook", leaf.name, came, received, grad is None))
        self._waiting[step] = Waiting(
            leaf=leaf,
            arrivals=arrivals,
            before=None if grad is None else self._gradients.index(grad),
            expected=_expected(grad, gradient),
            received=received,
            changed_by_hook=changed,
        )

    def end(self, step: int) -> None:
        """AccumulateGrad has run, post accumulate hooks included."""
        waiting = self._waiting.pop(step)
        leaf, grad = waiting.leaf, waiting.leaf.variable.grad
        is_as_expected = _same(waiting.expected, grad)
        if grad is not None and is_as_expected and waiting.before is None and waiting.received is not None:
            self._gradients.remember(grad, waiting.received)
        after = None if grad is None else self._gradients.index(grad)
        has_post_hooks = recorded_replay.has_post_accumulate_hooks(leaf.variable)
        if has_post_hooks and waiting.received is not None:
            self.hook_calls.append(HookCall(step, "post accumulate hook", leaf.name, after, None, grad is None))
        cannot_tell = waiting.changed_by_hook or (has_post_hooks and not is_as_expected)
        self.done.append(
            Accumulation(
                step,
                leaf.name,
                tuple(waiting.arrivals.contributions),
                waiting.before,
                after,
                None if cannot_tell else is_as_expected,
            )
        )

    def forget(self) -> None:
        """Let go of what never reached its leaf, after an error."""
        self._arrivals.clear()
        self._waiting.clear()

    def _of(self, task: int, node: int) -> Arrivals:
        """What waits for a leaf in this run of the engine; seeds lie there before it has a number."""
        found = self._arrivals.get((task, node))
        if found is None:
            seeds = self._arrivals.pop((SEED, node)) if (SEED, node) in self._arrivals else Arrivals()
            found = self._arrivals[task, node] = seeds
        return found

    def _of_total(self, total: torch.Tensor, changed: bool, received: int | None) -> int:
        return self._gradients.index(total) if changed or received is None else received


def _same(first: torch.Tensor | None, second: torch.Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    return same_bits(first, second)


def _expected(grad: torch.Tensor | None, gradient: torch.Tensor | None) -> torch.Tensor | None:
    if gradient is None:
        return None if grad is None else grad.detach().clone()
    return gradient.detach() if grad is None else added(grad, gradient)
