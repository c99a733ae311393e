"""One forward and backward, watched: flow, births, graph, gradients, in one Observation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from engine.diagnostics.activity import Activity
from engine.diagnostics.births import Births
from engine.diagnostics.flow import Flow
from engine.diagnostics.hooks import FoundHook, find_hooks
from engine.diagnostics.results import Kind
from engine.diagnostics.watch_backward import BackwardWatch
from engine.graph.recording import Recording, record_forward
from engine.graph.spec import Graph
from engine.graph.walk import read_graph
from engine.pytorch_said import PyTorchSaid, said


class Named(NamedTuple):
    """A tensor under its name."""

    name: str
    kind: Kind
    module: str
    tensor: torch.Tensor


class Ran(NamedTuple):
    """What a forward left behind: its loss, every leaf and named tensor, and the model they belong to."""

    loss: torch.Tensor | None
    named: tuple[Named, ...]
    model: nn.Module


@dataclass
class Observation:
    """All that was recorded; `numbers` is the node of each leaf's accumulator or non-leaf's grad_fn, by name."""

    flow: Flow
    births: Births
    activity: Activity
    recording: Recording
    ran: Ran
    graph: Graph | None = None
    ids: dict[Any, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    watch: BackwardWatch | None = None
    hooks: tuple[FoundHook, ...] = ()
    error: PyTorchSaid | None = None
    stage: Literal["", "forward", "backward"] = ""
    warnings: tuple[str, ...] = ()

    @contextmanager
    def keeping_errors(self, stage: Literal["forward", "backward"]) -> Iterator[None]:
        """An error of PyTorch's is what the page is about, not a fault."""
        try:
            yield
        except Exception as error:
            self.error, self.stage = said(error), stage


def observe(
    recorded_model: nn.Module,
    forward: Callable[[], Ran],
    left_behind: Callable[[], Ran],
    given: Mapping[str, torch.Tensor],
) -> Observation:
    """Run `forward` and its loss's backward; `left_behind` gives what there is when the forward raises.

    `given` are tensors that may be non-finite from the start. `recorded_model` supplies module paths.
    """
    activity = Activity()
    flow = Flow(activity.see)
    births = Births(flow)
    for name, tensor in given.items():
        births.given(name, tensor)
    seen = Observation(flow, births, activity, flow.recording, left_behind())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with flow, births, record_forward(recorded_model) as recording:
            flow.recording = seen.recording = recording
            with seen.keeping_errors("forward"):
                seen.ran = forward()
        if seen.error is not None:
            seen.ran = left_behind()
        flow.records = False
        flow.look_again()
        _read(seen, recorded_model)
        _backward(seen)
    seen.warnings = tuple(dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in caught))
    return seen


def _read(seen: Observation, recorded_model: nn.Module) -> None:
    """The graph behind the loss alone: what backward can reach."""
    loss = seen.ran.loss
    leaves = {one.name: one.tensor for one in seen.ran.named if one.tensor.is_leaf}
    tensors = {one.name: one.tensor for one in seen.ran.named}
    if loss is not None and loss.grad_fn is not None:
        seen.graph, seen.ids = read_graph([("loss", loss)], recorded_model, leaves)
        accumulators = {id(node.variable): number for node, number in seen.ids.items() if hasattr(node, "variable")}
        for one in seen.ran.named:
            number = accumulators.get(id(one.tensor)) if one.tensor.is_leaf else seen.ids.get(_grad_fn(one.tensor))
            if number is not None:
                seen.numbers[one.name] = number
    seen.hooks = find_hooks(seen.ran.model, tensors, seen.ids)


def _grad_fn(tensor: torch.Tensor) -> Any:
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def _backward(seen: Observation) -> None:
    loss = seen.ran.loss
    if loss is None or seen.error is not None:
        return
    if seen.graph is not None:
        slots = {one.name: (0 if one.tensor.is_leaf else one.tensor.output_nr) for one in seen.ran.named}
        wanted = [(number, slots[name]) for name, number in seen.numbers.items()]
        seen.watch = BackwardWatch(seen.graph, seen.ids, wanted, seen.births)
        seen.activity.watch(seen.watch, seen.ids)
    try:
        with seen.births, seen.keeping_errors("backward"):
            loss.backward()  # type: ignore[no-untyped-call]
    finally:
        if seen.watch is not None:
            seen.watch.remove()
