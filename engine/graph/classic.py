"""draw_torchviz: torchviz's own DOT text for a model, with cautions where the picture would mislead."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import torch

from engine.graph.roots import named_tensors
from engine.graph.spec import Classic, ClassicSpec, Graph, PyTorchError
from engine.graph.walk import read_graph
from engine.models.build import Built, build
from engine.runner.contract import ProgressSink
from engine.runner.faults import error_text, is_memory_error

_ADDRESS = re.compile(r"\b\d{9,}\b")


def draw_torchviz(spec: ClassicSpec, progress: ProgressSink) -> Classic:
    """Run the forward of `spec.model` and have torchviz draw it; refused above `maximum_nodes`, never by a crash."""
    progress("forward", 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = build(spec.model)
        try:
            outputs = built.forward()
            drawn = built.loss(outputs)
        except (RuntimeError, ValueError, TypeError) as error:
            return _failed(error, "forward")
        progress("reading the graph", 0.4)
        graph, ids = read_graph([("loss", drawn), *named_tensors(outputs, "output")], built.model, built.inputs)
        ids.clear()
        progress("torchviz", 0.5)
        return _draw(spec, built, drawn, graph)


def _draw(spec: ClassicSpec, built: Built, drawn: torch.Tensor, graph: Graph) -> Classic:
    count = len(graph.nodes)
    cautions = _cautions(spec, graph)
    refused = _refusal(spec, graph)
    if refused:
        return Classic(dot="", nodes=count, cautions=(refused, *cautions))
    try:
        dot = _make_dot(drawn, dict(built.model.named_parameters()) | built.inputs, spec, count)
    except (RuntimeError, RecursionError, AttributeError, TypeError) as error:
        failed = _failed(error, "backward")
        return Classic(dot="", nodes=count, cautions=cautions, error=failed.error)
    return Classic(dot=_stable_ids(dot), nodes=count, cautions=cautions)


def _refusal(spec: ClassicSpec, graph: Graph) -> str:
    count = len(graph.nodes)
    if count > spec.maximum_nodes:
        return f"not drawn: {count} nodes are above the limit of {spec.maximum_nodes}; torchviz draws one box each"
    crossed = crossed_ranks(graph)
    if crossed > spec.maximum_crossed_ranks:
        return (
            f"not drawn: shared leaves make edges so long that they pass {crossed} ranks, above the limit of "
            f"{spec.maximum_crossed_ranks}; dot would take minutes to lay them out"
        )
    return ""


def crossed_ranks(graph: Graph) -> int:
    """Ranks that edges pass by in a layered drawing: dot puts a hidden box on each, and its time grows with them."""
    following: list[list[int]] = [[] for _ in graph.nodes]
    waiting = [0] * len(graph.nodes)
    for edge in graph.edges:
        if edge.target is not None:
            following[edge.source].append(edge.target)
            waiting[edge.target] += 1
    rank = [0] * len(graph.nodes)
    ready = [node for node, count in enumerate(waiting) if not count]
    while ready:
        node = ready.pop()
        for target in following[node]:
            rank[target] = max(rank[target], rank[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return sum(rank[target] - rank[node] - 1 for node, targets in enumerate(following) for target in targets)


def _make_dot(drawn: torch.Tensor, named: dict[str, torch.Tensor], spec: ClassicSpec, count: int) -> str:
    """torchviz recurses about once per node in a row: give it that much room, and only for the call."""
    import torchviz  # 0.15 s: it imports setuptools

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 8 * count)
    try:
        shown = torchviz.make_dot(drawn, named, show_attrs=spec.show_attrs, show_saved=spec.show_saved)
        return str(shown.source)
    finally:
        sys.setrecursionlimit(before)


def _failed(error: Exception, stage: Any) -> Classic:
    """PyTorch's error as the lesson; memory that ran out is none, and is raised."""
    if is_memory_error(error):
        raise error
    text = PyTorchError(stage=stage, type=type(error).__name__, message=error_text(error))
    return Classic(dot="", nodes=0, error=text)


def _stable_ids(dot: str) -> str:
    """Number the boxes in order of appearance; torchviz names them by memory address, new in every run."""
    numbers: dict[str, str] = {}
    return _ADDRESS.sub(lambda found: numbers.setdefault(found.group(), f"n{len(numbers)}"), dot)


def _cautions(spec: ClassicSpec, graph: Graph) -> tuple[str, ...]:
    empty = sum(edge.target is None for edge in graph.edges)
    numbered = sum(edge.input_nr > 0 for edge in graph.edges if edge.target is not None)
    parallel = len(graph.edges) - empty - len({(e.source, e.target) for e in graph.edges if e.target is not None})
    slots = [slot for node in graph.nodes for slot in node.saved]
    changed = sum(slot.version_saved != slot.version_now for slot in slots)
    told = [
        (not graph.nodes, "no graph was recorded: torchviz draws a single box"),
        (
            len(graph.roots) > 1,
            "torchviz takes one tensor: the loss is drawn, the outputs are not marked",
        ),
        (empty > 0, f"empty slots (constants, inputs without gradient) are not drawn; this graph has {empty}"),
        (numbered > 0, f"{numbered} edges come from output 1 or later of their node, which is not written on them"),
        (parallel > 0, f"{parallel} parallel edges look alike: which operand each is cannot be told"),
        (graph.dropped_slots > 0, _checkpoint_caution(spec, graph.dropped_slots)),
        (changed > 0 and spec.show_saved, f"{changed} saved tensors were changed in place: show_saved raises here"),
    ]
    return tuple(text for holds, text in told if holds)


def _checkpoint_caution(spec: ClassicSpec, dropped: int) -> str:
    if spec.show_saved:
        return f"{dropped} slots were dropped by checkpoint: show_saved re-ran the forward to draw them as if kept"
    return f"{dropped} slots were dropped by checkpoint: the picture is the same as without checkpointing"
