"""What is profiled: a step of a model, or the lines of pytorch/pytorch#70028."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import torch

from engine.graph.model_run import Stage, pytorch_error
from engine.graph.roots import named_tensors
from engine.graph.spec import PyTorchError
from engine.models.build import Built, build
from engine.optimizers import make_optimizer
from engine.profiler.spec import ProfileSpec
from engine.recorded import named_members

LEARNING_RATE = 1e-3
SIDE = 256


class Runnable(Protocol):
    """Something to profile once: `run` it, then `named` tells the tensors that it leaves behind."""

    error: PyTorchError | None
    notes: list[str]

    def run(self) -> None: ...
    def forget(self) -> None: ...
    def named(self) -> Iterator[tuple[str, torch.Tensor]]: ...


def program_of(spec: ProfileSpec) -> Runnable:
    """What `spec` asks to profile, built but not run."""
    return MmReluSum() if spec.program == "pytorch#70028" else ModelStep(build(spec.model), spec)


class MmReluSum:
    """The lines of pytorch/pytorch#70028, in which only x.grad stays."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(SIDE, SIDE, requires_grad=True)
        self.error: PyTorchError | None = None
        self.notes: list[str] = []

    def run(self) -> None:
        x = self.x
        total = (x @ x).relu().sum()
        total.backward(retain_graph=True)  # type: ignore[no-untyped-call]
        del total

    def forget(self) -> None:
        self.x.grad = None

    def named(self) -> Iterator[tuple[str, torch.Tensor]]:
        if self.x.grad is not None:
            yield "x.grad", self.x.grad


class ModelStep:
    """Forward and loss of a built model, and as much of backward and optimizer step as is asked for."""

    def __init__(self, built: Built, spec: ProfileSpec) -> None:
        self.built, self.spec = built, spec
        self.outputs: Any = None
        self.loss: torch.Tensor | None = None
        self.error: PyTorchError | None = None
        self.notes: list[str] = []
        self.optimizer: torch.optim.Optimizer | None = None
        if spec.part == "training step":
            self._make_optimizer()

    def _make_optimizer(self) -> None:
        if any(parameter.requires_grad for parameter in self.built.model.parameters()):
            self.optimizer = make_optimizer(self.spec.optimizer, self.built.model.parameters(), LEARNING_RATE)
        else:
            self.notes.append("No parameter of this model requires a gradient, so there is no optimizer step.")

    def run(self) -> None:
        stage: Stage = "forward"
        try:
            self.outputs = self.built.forward()
            stage = "loss"
            self.loss = self.built.loss(self.outputs)
            stage = "backward"
            if self.spec.part != "forward":
                self.loss.backward()  # type: ignore[no-untyped-call]
            stage = "optimizer step"
            if self.optimizer is not None:
                self.optimizer.step()
        except Exception as error:
            self.error = pytorch_error(stage, error)

    def forget(self) -> None:
        """As before the run: no outputs, no gradients, and an optimizer without state."""
        self.outputs = self.loss = self.error = None
        self.built.named_extra.clear()
        self.built.model.zero_grad()
        for tensor in self.built.inputs.values():
            tensor.grad = None
        if self.optimizer is not None:
            self._make_optimizer()

    def named(self) -> Iterator[tuple[str, torch.Tensor]]:
        if self.loss is not None:
            yield "loss", self.loss
        found = (*named_tensors(self.outputs, "output"), *self.built.named_extra.items())
        yield from ((name, value) for name, value in found if isinstance(value, torch.Tensor))
        parameters, buffers = named_members(self.built.model)
        for name, leaf in (*parameters.items(), *self.built.inputs.items()):
            if leaf.grad is not None:
                yield f"{name}.grad", leaf.grad
        yield from ((f"buffer {name}", buffer) for name, buffer in buffers.items())
        if self.optimizer is not None:
            yield from _state(self.optimizer, parameters)


def _state(optimizer: torch.optim.Optimizer, parameters: dict[str, torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in parameters.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                yield f"{key} of {name} (optimizer state)", value
