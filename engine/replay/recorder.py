"""Hooks on every node of a graph: the steps of the engine, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import get_ident
from time import perf_counter
from typing import Any, Literal

import torch
from torch.overrides import TorchFunctionMode

from engine import recorded_replay
from engine.graph.spec import PyTorchError
from engine.replay.accumulation import SEED, Accumulations, LeafTensor
from engine.replay.gradients import Gradients
from engine.replay.spec import Pass, Step

MOST_STEPS = 120_000
MOST_GRADIENTS = 150_000
"""Recorded at most; both together are some 25 MiB of the result's 48, values and histograms another 16."""

Kind = Literal["node", "accumulate", "recompute"]
Gradient = torch.Tensor | None
Slots = list[tuple[int, int]]
"""(slot, number of the AccumulateGrad it feeds)."""


@dataclass
class Watched:
    """What is known of one node before it runs."""

    number: int
    node: int | None
    """Its place in the graph of the result."""
    name: str
    module: str
    slots: int
    to_leaves: Slots = field(default_factory=list)
    leaf: LeafTensor | None = None


@dataclass
class Running:
    """A step that has begun."""

    number: int
    watched: Watched | None
    kind: Kind
    name: str
    module: str
    thread: int
    begun_s: float
    received: tuple[int | None, ...]
    inside: int | None
    recording_s: float = 0.0
    duration_s: float | None = None
    returned: tuple[int | None, ...] = ()
    operations: int = 0
    is_in_mode: bool = False


class Recorder:
    """Records what the engine does between `watch(...)` and `release()`; holds nodes only meanwhile."""

    def __init__(self, most_steps: int = MOST_STEPS) -> None:
        self.gradients = Gradients()
        self.accumulations = Accumulations(self.gradients)
        self.passes: list[Pass] = []
        self.left_out = 0
        self.mode: TorchFunctionMode | None = None
        """Sees the PyTorch functions that Python calls while a node runs."""
        self._steps: list[Running] = []
        self._most_steps = most_steps
        self._handles: list[Any] = []
        self._threads: dict[int, int] = {}
        self._running: dict[int, list[Running]] = {}
        self._began = 0.0
        self._recording_s = 0.0

    def watch(self, node: Any, watched: Watched) -> None:
        """Put both hooks on a node."""
        self._handles.append(node.register_prehook(partial(self._before, watched)))
        self._handles.append(node.register_hook(partial(self._after, watched)))

    def release(self) -> None:
        """Take every hook off again: a node that holds a hook of ours would hold us."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.accumulations.forget()

    @contextmanager
    def backward(self, error_of: Callable[[Exception], PyTorchError]) -> Iterator[None]:
        """One pass: what PyTorch raises inside is kept in its row."""
        first, error = len(self._steps), None
        self._threads.setdefault(get_ident(), 0)
        self._recording_s = 0.0
        self._began = began = perf_counter()
        try:
            yield
        except Exception as raised:
            error = error_of(raised)
        duration_s = perf_counter() - began
        self._running.clear()
        self.accumulations.forget()
        self.passes.append(Pass(len(self.passes), first, len(self._steps), duration_s, error))

    def seed(self, node: int, position: int, gradient: torch.Tensor) -> None:
        """A root that is a leaf itself: its AccumulateGrad gets the seed."""
        self.accumulations.arrive(SEED, node, SEED, position, gradient)

    @property
    def running(self) -> Running | None:
        """The innermost step of this thread that is no recomputation."""
        stack = self._running.get(get_ident())
        return stack[-1] if stack else None

    @property
    def next_step(self) -> int:
        """The number the next step will get."""
        return len(self._steps)

    @property
    def is_full(self) -> bool:
        return len(self._steps) >= self._most_steps or len(self.gradients.summaries) >= MOST_GRADIENTS

    def steps(self) -> tuple[Step, ...]:
        """The rows; the number of the pass is told by the passes' bounds."""
        passes = [one.number for one in self.passes for _ in range(one.first, one.last)]
        return tuple(_row(step, number) for step, number in zip(self._steps, passes, strict=True))

    @contextmanager
    def not_counted(self) -> Iterator[float]:
        """Time inside is recording's own; PyTorch functions inside are not seen as recomputation. Gives clock_s()."""
        entered = perf_counter()
        with recorded_replay.below_torch_function():
            yield entered - self._began - self._recording_s
        self._recording_s += perf_counter() - entered

    def begin(self, kind: Kind, name: str, module: str, begun_s: float, watched: Watched | None = None) -> Running:
        """A new step."""
        outer, thread = self.running, self._threads.setdefault(get_ident(), len(self._threads))
        step = Running(
            number=len(self._steps),
            watched=watched,
            kind=kind,
            name=name,
            module=module,
            thread=thread,
            begun_s=begun_s,
            received=(),
            inside=None if outer is None else outer.number,
        )
        self._steps.append(step)
        return step

    def clock_s(self) -> float:
        """Seconds since the pass began, without what recording took."""
        return perf_counter() - self._began - self._recording_s

    def _before(self, watched: Watched, gradients: Sequence[Gradient]) -> None:
        if self.is_full:
            self.left_out += 1
            return
        with self.not_counted() as begun_s:
            kind: Kind = "node" if watched.leaf is None else "accumulate"
            step = self.begin(kind, watched.name, watched.module, begun_s, watched)
            step.received = self.gradients.indices(gradients)
            if watched.leaf is not None:
                task = recorded_replay.graph_task_id()
                self.accumulations.begin(task, watched.number, step.number, watched.leaf, gradients[0])
            self._running.setdefault(get_ident(), []).append(step)
        if self.mode is not None:
            # The engine gives every node the modes backward() was called with, so each puts ours on for itself.
            self.mode.__enter__()  # type: ignore[no-untyped-call]
            step.is_in_mode = True

    def _after(self, watched: Watched, returned: Sequence[Gradient], _: Sequence[Gradient]) -> None:
        step = self._leave(watched)
        if step is None:
            return
        step.duration_s = self.clock_s() - step.begun_s
        if self.mode is not None and step.is_in_mode:
            self.mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        with self.not_counted():
            if watched.leaf is not None:
                self.accumulations.end(step.number)
                return
            step.returned = self._returned(watched, returned)
            task = recorded_replay.graph_task_id()
            for slot, leaf in watched.to_leaves:
                gradient = returned[slot] if slot < len(returned) else None
                if gradient is not None:
                    self.accumulations.arrive(task, leaf, step.number, slot, gradient)

    def _leave(self, watched: Watched) -> Running | None:
        """The step of this node, which is the innermost that runs unless an inner engine raised on the way."""
        stack = self._running.get(get_ident(), [])
        for place in range(len(stack) - 1, -1, -1):
            if stack[place].watched is watched:
                step = stack[place]
                del stack[place:]
                return step
        return None

    def _returned(self, watched: Watched, gradients: Sequence[Gradient]) -> tuple[int | None, ...]:
        found = self.gradients.indices(gradients[: watched.slots])
        return found + (None,) * (watched.slots - len(found))


def _row(step: Running, pass_number: int) -> Step:
    node = None if step.watched is None else step.watched.node
    return Step(
        step.number,
        pass_number,
        step.kind,
        node,
        step.name,
        step.module,
        step.thread,
        step.begun_s,
        step.duration_s,
        step.received,
        step.returned,
        step.inside,
        step.operations,
    )
