"""trace_model: build a model, run its forward, read the graph, run backward, read every leaf."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import torch

from engine.graph.classic import draw_torchviz
from engine.graph.cut import cut_of
from engine.graph.held import measure_held_bytes
from engine.graph.leaves import Backward, leaf_table, uses_of
from engine.graph.recording import Recording, record_forward
from engine.graph.roots import named_tensors
from engine.graph.spec import ClassicSpec, Graph, GraphSpec, Leaf, ModuleCall, PyTorchError, Traced
from engine.graph.walk import read_graph
from engine.models.build import Built, build
from engine.models.build import price as price_model
from engine.runner.contract import Price, ProgressSink, hand_over
from engine.runner.faults import error_text, is_memory_error

__all__ = ["draw_torchviz", "price", "trace_model"]

Stage = Literal["forward", "loss", "backward"]


def price(spec: GraphSpec | ClassicSpec) -> Price:
    """What building and running the model will need."""
    return price_model(spec.model)


def warm() -> None:
    """Trace the default model, so that PyTorch's node classes are read and its lazy parts loaded before any job."""
    trace_model(GraphSpec(), lambda stage, fraction: None)


class _Run:
    """One forward, loss and backward of a model; an error PyTorch raises is kept as the lesson, not raised."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.outputs: Any = None
        self.loss: torch.Tensor | None = None
        self.error: PyTorchError | None = None
        self.recording = Recording()

    def forward(self) -> None:
        with record_forward(self.built.model) as self.recording:
            with self._stage("forward"):
                self.outputs = self.built.forward()
            if self.error is None:
                with self._stage("loss"):
                    self.loss = self.built.loss(self.outputs)

    def backward(self) -> None:
        with self._stage("backward"):
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

    @contextmanager
    def _stage(self, stage: Stage) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if is_memory_error(error):
                raise
            self.error = PyTorchError(stage=stage, type=type(error).__name__, message=error_text(error))


def trace_model(spec: GraphSpec, progress: ProgressSink) -> Traced:
    """The recorded graph of one forward (read before backward), the leaf table after backward, and PyTorch's words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        progress("building the model", 0.0)
        run = _Run(build(spec.model))
        progress("forward", 0.2)
        run.forward()
        progress("reading the graph", 0.4)
        graph, ids = read_graph(run.roots(), run.built.model, run.built.inputs)
        uses = uses_of(graph, ids, run.extra())
        ids.clear()
        if (smaller := spec.on_the_way) is not None:
            hand_over(progress, partial(_result, smaller, run, graph, uses, caught))
        if spec.backward:
            progress("backward", 0.6)
            run.backward()
    progress("counting held bytes", 0.8)
    return _result(spec, run, graph, uses, caught)


def _leaves(spec: GraphSpec, run: _Run, uses: dict[tuple[str, str], int]) -> tuple[Leaf, ...]:
    calls = run.recording.calls
    cut = cut_of(spec.model, run.built.model, calls)
    backward = Backward(ran=spec.backward, error=run.error, calls=calls, cut=cut, uses=uses)
    return leaf_table(run.built.model, run.built.inputs, run.extra(), backward)


def _result(
    spec: GraphSpec,
    run: _Run,
    graph: Graph,
    uses: dict[tuple[str, str], int],
    caught: list[warnings.WarningMessage],
) -> Traced:
    leaves = _leaves(spec, run, uses)  # before the outputs are let go, to count held bytes
    parameters = list(run.built.model.parameters())
    return Traced(
        graph=graph,
        leaves=leaves,
        modules=_modules(run, graph),
        parameters=sum(parameter.numel() for parameter in parameters),
        parameter_bytes=sum(parameter.nbytes for parameter in parameters),
        loss=None if run.loss is None else float(run.loss.detach()),
        held_bytes=_held_bytes(spec, run, graph),
        error=run.error,
        warnings=tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught)),
    )


def _held_bytes(spec: GraphSpec, run: _Run, graph: Graph) -> int | None:
    if run.error is not None and run.error.stage != "backward":
        return None
    if spec.model.checkpoint == "off":
        return graph.saved_bytes
    run.outputs = run.loss = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure_held_bytes(lambda: run.built.loss(run.built.forward()))


def _modules(run: _Run, graph: Graph) -> tuple[ModuleCall, ...]:
    counts: dict[str, int] = {}
    for path, own in Counter(graph.node_modules).items():
        parts = path.split(".") if path else []
        for depth in range(len(parts) + 1):
            above = ".".join(parts[:depth])
            counts[above] = counts.get(above, 0) + own
    calls = run.recording.calls
    return tuple(
        ModuleCall(path, type(module).__name__, counts.get(path, 0), calls.get(path, 0))
        for path, module in run.built.model.named_modules()
    )
