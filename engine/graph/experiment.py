"""trace_model: build a model, run its forward, read the graph, run backward, read every leaf."""

from __future__ import annotations

import warnings
from functools import partial

from engine.graph.classic import draw_torchviz
from engine.graph.cut import cut_of
from engine.graph.held import measure_held_bytes
from engine.graph.leaves import Backward, leaf_table, uses_of
from engine.graph.model_run import ModelRun, module_calls
from engine.graph.spec import ClassicSpec, Graph, GraphSpec, Leaf, Traced
from engine.graph.walk import read_graph
from engine.models.build import build
from engine.models.build import price as price_model
from engine.runner.contract import Price, ProgressSink, hand_over

__all__ = ["draw_torchviz", "price", "trace_model"]


def price(spec: GraphSpec | ClassicSpec) -> Price:
    """What building and running the model will need."""
    return price_model(spec.model)


def warm() -> None:
    """Trace the default model, so that PyTorch's node classes are read and its lazy parts loaded before any job."""
    trace_model(GraphSpec(), lambda stage, fraction: None)


def trace_model(spec: GraphSpec, progress: ProgressSink) -> Traced:
    """The recorded graph of one forward (read before backward), the leaf table after backward, and PyTorch's words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        progress("building the model", 0.0)
        run = ModelRun(build(spec.model))
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


def _leaves(spec: GraphSpec, run: ModelRun, uses: dict[tuple[str, str], int]) -> tuple[Leaf, ...]:
    calls = run.recording.calls
    cut = cut_of(spec.model, run.built.model, calls)
    backward = Backward(ran=spec.backward, error=run.error, calls=calls, cut=cut, uses=uses)
    return leaf_table(run.built.model, run.built.inputs, run.extra(), backward)


def _result(
    spec: GraphSpec,
    run: ModelRun,
    graph: Graph,
    uses: dict[tuple[str, str], int],
    caught: list[warnings.WarningMessage],
) -> Traced:
    leaves = _leaves(spec, run, uses)  # before the outputs are let go, to count held bytes
    parameters = list(run.built.model.parameters())
    return Traced(
        graph=graph,
        leaves=leaves,
        modules=module_calls(run.built.model, graph, run.recording.calls),
        parameters=sum(parameter.numel() for parameter in parameters),
        parameter_bytes=sum(parameter.nbytes for parameter in parameters),
        loss=None if run.loss is None else float(run.loss.detach()),
        held_bytes=_held_bytes(spec, run, graph),
        error=run.error,
        warnings=tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught)),
    )


def _held_bytes(spec: GraphSpec, run: ModelRun, graph: Graph) -> int | None:
    if run.error is not None and run.error.stage != "backward":
        return None
    if spec.model.checkpoint == "off":
        return graph.saved_bytes
    run.outputs = run.loss = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure_held_bytes(lambda: run.built.loss(run.built.forward()))
