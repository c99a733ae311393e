"""trace_graph: walk the recorded autograd graph iteratively and describe every node without changing it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from engine import recorded
from engine.garbage import collection_paused
from engine.graph.columns import EdgeColumns, column
from engine.graph.nodes import read_nodes
from engine.graph.owners import Owners
from engine.graph.recording import latest_recording
from engine.graph.release import release_iteratively
from engine.graph.roots import named_inputs, named_tensors
from engine.graph.saved import SavedReader
from engine.graph.spec import Graph, Root
from engine.graph.texts import NAMES
from engine.runner.faults import error_text
from engine.shapes import shape_of


def trace_graph(outputs: Any, model: nn.Module | None = None, inputs: Any = None) -> Graph:
    """Read the autograd graph behind `outputs`: a tensor, or tuples, lists, mappings and dataclasses of tensors.

    `model` names parameters and buffers and supplies module paths and source lines when its forward ran inside
    `record_forward(model)`; `inputs` (mapping, sequence or tensor) names inputs. Read before `backward()`, which frees
    what was saved. A field that cannot be read says why.

    Changes nothing: no recompute, no version bump, no reference kept. One exception: above 5,000 nodes, lists of nodes
    are left in the public `metadata` of some, since torch 2.13 frees a node that Python has seen by recursion and
    overflows the stack near 50,000 in a row. They keep nothing alive that the graph itself does not (release.py).
    """
    return read_graph(list(named_tensors(outputs, "output")), model, named_inputs(inputs))[0]


def read_graph(
    found: list[tuple[str, torch.Tensor | str]], model: nn.Module | None, inputs: dict[str, torch.Tensor]
) -> tuple[Graph, dict[Any, int]]:
    """The graph behind named tensors (or notes), and the number of each node; dropping those numbers lets it go."""
    with collection_paused():  # rows are no garbage, and looking for it grows with all that is alive
        return _read_graph(found, model, inputs)


def _read_graph(
    found: list[tuple[str, torch.Tensor | str]], model: nn.Module | None, inputs: dict[str, torch.Tensor]
) -> tuple[Graph, dict[Any, int]]:
    owners = Owners(model, inputs)
    tensors = [(name, value, *_gradient_edge(value)) for name, value in found if isinstance(value, torch.Tensor)]
    edges = _discover([node for _, _, node, _ in tensors if node is not None], owners)
    saved = SavedReader(owners)
    nodes, slots = read_nodes(owners, saved, latest_recording(model), _root_hooks(tensors, owners))
    release_iteratively(owners.nodes, edges.counts, edges.targets)
    return Graph(
        node_columns=nodes,
        slot_columns=slots,
        edge_columns=edges.columns(),
        roots=tuple(_root(name, tensor, node, note, owners) for name, tensor, node, note in tensors),
        saved_bytes=sum(owners.totals.values()),
        parameter_bytes=owners.totals["parameter"],
        input_bytes=owners.totals["input"],
        buffer_bytes=owners.totals["buffer"],
        intermediate_bytes=owners.totals["intermediate"],
        dropped_slots=saved.dropped,
        notes=tuple(f"{name} is skipped: {value}" for name, value in found if isinstance(value, str)),
    ), owners.ids


class Discovered(NamedTuple):
    """The slots of all nodes, one node after the other: how many each has, and where each leads (-1 for nowhere)."""

    counts: list[int]
    targets: list[int]
    input_nrs: list[int]

    def columns(self) -> EdgeColumns:
        counts = np.array(self.counts, dtype=np.int64)
        first = np.cumsum(counts) - counts
        return EdgeColumns(
            source=column(np.repeat(np.arange(counts.size), counts)),
            output_nr=column(np.arange(len(self.targets)) - np.repeat(first, counts)),
            target=column(np.array(self.targets, dtype=np.int64) + 1),
            input_nr=column(self.input_nrs),
        )


def _discover(starts: list[Any], owners: Owners) -> Discovered:
    """Number every node reachable from `starts` breadth first and return the edges, empty slots included."""
    nodes, ids = owners.nodes, owners.ids
    for start in starts:
        if start not in ids:
            ids[start] = len(nodes)
            nodes.append(start)
    found = Discovered([], [], [])
    count, add, add_input = found.counts.append, found.targets.append, found.input_nrs.append
    number_of = ids.get
    for following in map(recorded.read_next, nodes):
        count(len(following))
        for target, input_nr in following:
            number = number_of(target)
            if number is None:
                number = -1
                if target is not None:
                    number = ids[target] = len(nodes)
                    nodes.append(target)
            add(number)
            add_input(input_nr)
    return found


def _gradient_edge(tensor: torch.Tensor) -> tuple[Any | None, str]:
    """(grad_fn, why there is none)."""
    try:
        node = tensor.grad_fn
    except RuntimeError as error:
        return None, error_text(error)
    return node, "" if node is not None else _why_no_node(tensor)


def _why_no_node(tensor: torch.Tensor) -> str:
    kind = "" if type(tensor) is torch.Tensor else f"{type(tensor).__name__}: "
    if base := recorded.base_of_view(tensor):
        kind = f"{type(tensor).__name__}, a view of a {base}: "
    if tensor.requires_grad:
        return f"{kind}a leaf: it requires grad but no operation made it"
    if tensor.is_inference():
        return f"{kind}made under inference_mode: autograd recorded nothing"
    return f"{kind}does not require grad: made without grad mode, detached, or from tensors that need no gradient"


def _root(name: str, tensor: torch.Tensor, node: Any | None, note: str, owners: Owners) -> Root:
    described = shape_of(tensor)
    number = None if node is None else owners.ids[node]
    return Root(name, number, tensor.output_nr, described, NAMES[tensor.dtype], note)


def _root_hooks(tensors: list[Any], owners: Owners) -> dict[int, tuple[str, ...]]:
    found = {owners.ids[node]: recorded.tensor_hooks(tensor) for _, tensor, node, _ in tensors if node is not None}
    return {number: hooks for number, hooks in found.items() if hooks}
