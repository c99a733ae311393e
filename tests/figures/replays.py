"""Backward passes made by hand over graphs made by hand: what the replay's figures and its canvas are tested on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from engine.graph.spec import Graph, ModuleCall, PyTorchError
from engine.replay.spec import Accumulation, Pass, Replay, Step
from engine.runner.contract import Array
from engine.summary import TensorSummary


def summary(values: Sequence[float] | float, shape: tuple[int, ...] | None = None) -> TensorSummary:
    """Of these values as float32, counted the plain way."""
    array = np.atleast_1d(np.asarray(values, np.float64))
    finite = array[np.isfinite(array)]
    empty = not finite.size
    return TensorSummary(
        shape=array.shape if shape is None else shape,
        dtype="float32",
        layout="torch.strided",
        device="cpu",
        numel=array.size,
        norm=math.nan if empty else float(np.linalg.norm(finite)),
        minimum=math.nan if empty else float(finite.min()),
        maximum=math.nan if empty else float(finite.max()),
        mean=math.nan if empty else float(finite.mean()),
        zeros=int((array == 0).sum()),
        nans=int(np.isnan(array).sum()),
        infinities=int(np.isinf(array).sum()),
        values=Array("float64", array.shape, array.tobytes()),
    )


def engine_order(graph: Graph) -> list[int]:
    """Nodes that the roots reach, each after all that send it a gradient; of those ready, the smallest id first."""
    reached, waiting = {root.node for root in graph.roots if root.node is not None}, []
    waiting = sorted(reached)
    while waiting:
        source = waiting.pop()
        for edge in graph.edges:
            if edge.source == source and edge.target is not None and edge.target not in reached:
                reached.add(edge.target)
                waiting.append(edge.target)
    missing = Counter(edge.target for edge in graph.edges if edge.source in reached and edge.target is not None)
    ready, order = sorted(node for node in reached if not missing[node]), []
    while ready:
        order.append(node := ready.pop(0))
        for edge in graph.edges:
            if edge.source == node and edge.target is not None:
                missing[edge.target] -= 1
                if not missing[edge.target]:
                    ready = sorted([*ready, edge.target])
    return order


def played(
    graph: Graph,
    norm: Callable[[int, int], float] = lambda node, slot: 2.0 ** (-node),
    *,
    passes: int = 1,
    modules: Sequence[ModuleCall] = (),
    errors: Sequence[PyTorchError | None] = (),
) -> Replay:
    """`graph` run backward `passes` times; the gradient along slot `slot` of a node is one number, `norm(node, slot)`.

    An AccumulateGrad receives what was sent to it last, and adds it to what is there.
    """
    gradients: list[TensorSummary] = []
    steps: list[Step] = []
    accumulations, made = [], []
    kept: dict[int, int] = {}
    for number in range(passes):
        first = len(steps)
        arrived: dict[int, list[tuple[int, int, int]]] = {}
        for at in engine_order(graph):
            node = graph.nodes[at]
            received = tuple(dict.fromkeys(gradient for _, _, gradient in arrived.get(at, [])))[-1:]
            returned: list[int | None] = []
            for edge in sorted((e for e in graph.edges if e.source == at), key=lambda e: e.output_nr):
                returned += [None] * (edge.output_nr - len(returned))
                if edge.target is None:
                    returned.append(None)
                    continue
                gradients.append(summary(norm(at, edge.output_nr)))
                returned.append(len(gradients) - 1)
                arrived.setdefault(edge.target, []).append((len(steps), edge.output_nr, len(gradients) - 1))
            kind = "accumulate" if node.kind == "leaf" else "node"
            if kind == "accumulate":
                before = kept.get(at)
                old = 0.0 if before is None else gradients[before].norm
                gradients.append(summary(old + sum(gradients[g].norm for _, _, g in arrived.get(at, []))))
                kept[at] = len(gradients) - 1
                uses = tuple((step, slot) for step, slot, _ in arrived.get(at, []))
                accumulations.append(Accumulation(len(steps), node.variable, uses, before, kept[at], True))
            place = len(steps)
            steps.append(
                Step(place, number, kind, at, node.name, node.module, 0, place * 1e-5, 5e-6, received, tuple(returned))
            )
        error = errors[number] if number < len(errors) else None
        made.append(Pass(number, first, len(steps), 1e-3, error))
    return Replay(
        graph=graph,
        modules=tuple(modules),
        steps=tuple(steps),
        gradients=tuple(gradients),
        accumulations=tuple(accumulations),
        passes=tuple(made),
        loss=1.0,
    )
