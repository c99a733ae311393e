"""One forward, loss and backward of a built model, with what PyTorch refuses kept as the lesson."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import nn

from engine.graph.recording import Recording, record_forward
from engine.graph.roots import named_tensors
from engine.graph.spec import Graph, ModuleCall, PyTorchError
from engine.models.build import Built
from engine.runner.faults import Fault, error_text, is_memory_error

Stage = Literal["forward", "loss", "backward", "optimizer step"]


class Stages:
    """What runs in stages; an error PyTorch raises in one is kept as the lesson, not raised."""

    error: PyTorchError | None = None

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.error = pytorch_error(stage, error)


class ModelRun(Stages):
    """One forward, loss and backward of a model."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.outputs: Any = None
        self.loss: torch.Tensor | None = None
        self.recording = Recording()

    def forward(self) -> None:
        with record_forward(self.built.model) as self.recording:
            with self.stage("forward"):
                self.outputs = self.built.forward()
            if self.error is None:
                with self.stage("loss"):
                    self.loss = self.built.loss(self.outputs)

    def backward(self) -> None:
        with self.stage("backward"):
            if self.loss is not None:
                self.loss.backward()  # type: ignore[no-untyped-call]

    def roots(self) -> list[tuple[str, torch.Tensor | str]]:
        """The loss first, then the outputs; after a failed forward whatever it had named."""
        if self.loss is not None:
            return [("loss", self.loss), *named_tensors(self.outputs, "output")]
        if self.outputs is not None:
            return list(named_tensors(self.outputs, "output"))
        return [*self.extra().items()]

    def extra(self) -> dict[str, torch.Tensor]:
        return self.built.named_extra or dict(getattr(self.built.model, "named", {}))


def pytorch_error(stage: Stage, error: Exception) -> PyTorchError:
    """The error as data; one that means memory ran out, or a Fault of ours, is no lesson and is raised again."""
    if isinstance(error, Fault) or is_memory_error(error):
        raise error
    return PyTorchError(stage=stage, type=type(error).__name__, message=error_text(error))


def module_calls(model: nn.Module, graph: Graph, calls: Mapping[str, int]) -> tuple[ModuleCall, ...]:
    """One row per module of the model: the nodes it and those below made, and how often its forward ran."""
    counts: dict[str, int] = {}
    for path, own in Counter(graph.node_modules).items():
        parts = path.split(".") if path else []
        for depth in range(len(parts) + 1):
            above = ".".join(parts[:depth])
            counts[above] = counts.get(above, 0) + own
    return tuple(
        ModuleCall(path, type(module).__name__, counts.get(path, 0), calls.get(path, 0))
        for path, module in model.named_modules()
    )
