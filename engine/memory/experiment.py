"""record_model_memory: build a model, train it for a few steps, and account for every byte on the way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch

from engine.graph.model_run import Stages
from engine.graph.roots import named_tensors
from engine.memory.looks import (
    Sighting,
    look_at,
    look_at_gradients,
    look_at_kept,
    look_at_model,
    look_at_optimizer,
    look_at_outputs,
)
from engine.memory.record import MemoryRecording
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.models.architecture import AnyArchitecture, Chain, Recurrent, TiedLoop
from engine.models.build import Built, build
from engine.models.build import price as price_model
from engine.models.shape import block_count
from engine.models.size import parameter_count
from engine.optimizers import make_optimizer
from engine.runner.contract import Price, ProgressSink
from engine.runner.faults import size

LR = 1e-3
EVENT_BYTES = 15_000
"""What the profiler and the trace keep per operation of a step; 11,000 to 15,000 were measured."""
STATES = {"Adam": 2, "AdamW": 2, "AdamW fused": 2, "SGD momentum": 1}
"""Tensors of a parameter's size that an optimizer keeps per parameter."""


def price(spec: MemorySpec) -> Price:
    """The model's own price, optimizer state and temporaries, as many graphs as the loop keeps, and the events."""
    model = price_model(spec.model)
    weights = 0 if spec.optimizer == "none" else parameter_count(spec.model.architecture) * 4
    state = weights * (STATES.get(spec.optimizer, 0) + 2)
    keeps_graphs = spec.kept == "the loss of every step" and (spec.retain_graph or not spec.backward)
    graphs = spec.steps if keeps_graphs else 1
    events = spec.steps * _operations(spec.model.architecture) * EVENT_BYTES
    return Price(
        predicted_bytes=model.predicted_bytes * graphs + state + events,
        what=f"{model.what}, optimizer state and temporaries {size(state)}, {graphs} graphs kept at once, "
        f"what the profiler notes {size(events)}",
    )


def _operations(a: AnyArchitecture) -> int:
    """Roughly how many operations one training step runs; what repeats without parameters of its own counts itself."""
    repeated = {
        Chain: getattr(a, "operations", 0) * 2,
        TiedLoop: getattr(a, "steps", 0) * 8,
        Recurrent: getattr(a, "steps", 0) * getattr(a, "layers", 0) * 24,
    }
    return repeated.get(type(a), block_count(a) * 60)


def record_model_memory(spec: MemorySpec, progress: ProgressSink) -> MemoryTrace:
    """Every block of memory from building the model to the end of the last step; PyTorch's errors end it early."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        progress("building the model", 0.0)
        run = _Training(spec)
        with run.recording:
            run.build()
            for step in range(1, spec.steps + 1):
                progress(f"step {step}", 0.1 + 0.6 * (step - 1) / spec.steps)
                run.step(step)
                if run.error is not None:
                    break
        progress("attributing blocks", 0.7)
        said = tuple(dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in caught))
    return run.recording.trace(run.error, said, run.notes)


class _Training(Stages):
    """The training loop that is recorded; between phases it is looked at."""

    def __init__(self, spec: MemorySpec) -> None:
        self.spec = spec
        self.recording = MemoryRecording(spec.model.device)
        self.outputs: Any = None
        self.loss: torch.Tensor | None = None
        self.losses: list[Any] = []
        self.optimizer: torch.optim.Optimizer | None = None
        self.names: dict[int, str] = {}
        self.notes: tuple[str, ...] = ()

    def build(self) -> None:
        self.recording.begin("build", 0)
        self.built: Built = build(self.spec.model)
        model = self.built.model
        self.names = {id(parameter): name for name, parameter in model.named_parameters()}
        if self.spec.optimizer != "none":
            if any(one.requires_grad for one in model.parameters()):
                self.optimizer = make_optimizer(self.spec.optimizer, model.parameters(), LR)
            else:
                self.notes = ("no optimizer: the model has no parameter that requires a gradient",)
        self.recording.follow(model)
        self.recording.look(look_at_model(model), self._inputs())

    def step(self, number: int) -> None:
        self._forward(number)
        if self.error is None and self.spec.backward:
            self._backward(number)
        if self.error is None and self.spec.backward:
            self._update(number)
        self.recording.begin("end of step", number)
        self._let_go()
        self.recording.look(self._everything(), self._kept(), freed="all")

    def _forward(self, number: int) -> None:
        self.recording.begin("forward", number)
        with self.stage("forward"):
            self.outputs = self.built.forward()
        self.recording.begin("loss", number)
        if self.error is None:
            with self.stage("loss"):
                self.loss = self.built.loss(self.outputs)
        self.recording.look(*self._graphs(), self._everything())

    def _backward(self, number: int) -> None:
        self.recording.begin("backward", number)
        with self.stage("backward"):
            assert self.loss is not None
            self.loss.backward(retain_graph=self.spec.retain_graph)  # type: ignore[no-untyped-call]
        earlier = look_at_kept("losses", self.losses)
        self.recording.look(*self._graphs(), earlier, self._everything(), freed="all")

    def _update(self, number: int) -> None:
        if self.optimizer is not None:
            self.recording.begin("optimizer step", number)
            with self.stage("optimizer step"):
                self.optimizer.step()
            self.recording.look(self._everything())
        if self.spec.zero_grad != "never" and self.error is None:
            self.recording.begin("zero_grad", number)
            to_none = self.spec.zero_grad == "set_to_none"
            (self.optimizer or self.built.model).zero_grad(set_to_none=to_none)

    def _let_go(self) -> None:
        """What the loop's own variables refer to when a step ends."""
        kept = self.spec.kept
        if kept == "the loss of every step":
            self.losses.append(self.loss)
        elif kept == "loss.item() of every step" and self.loss is not None:
            self.losses.append(self.loss.item())
        self.outputs = self.outputs if kept == "outputs" else None
        self.loss = self.loss if kept == "the loss" else None

    def _inputs(self) -> Iterator[Sighting]:
        yield from look_at("input", self.built.inputs.items())
        yield from look_at("input", [("target", self.built.target)])

    def _graphs(self) -> list[Iterator[Sighting]]:
        """Loss and outputs of this step, and what is saved behind them."""
        found = {"output": self.outputs} if self.loss is None else {"loss": self.loss, "output": self.outputs}
        return [look_at_outputs(name, value) for name, value in found.items()]

    def _everything(self) -> Iterator[Sighting]:
        """All that lives between steps, by the names of a training script."""
        yield from look_at_model(self.built.model)
        yield from look_at_gradients(self.built.inputs)
        yield from look_at("output", named_tensors(self.built.named_extra, "model.named"))
        if self.optimizer is not None:
            yield from look_at_optimizer(self.optimizer, self.names)

    def _kept(self) -> Iterator[Sighting]:
        """What the loop's variables still refer to, and the graphs that live for that reason."""
        yield from look_at_kept("losses", self.losses)
        yield from look_at_kept("outputs", self.outputs)
        yield from look_at_kept("loss", self.loss)
