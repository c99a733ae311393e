"""Watching the nodes of a graph that has been read, in the first forward and in later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine import recorded
from engine.graph.spec import Graph
from engine.replay.accumulation import LeafTensor
from engine.replay.recorder import Recorder, Watched


def watch_graph(recorder: Recorder, graph: Graph, ids: Mapping[Any, int], places: Sequence[int | None]) -> None:
    """Put hooks on every node of `graph`; node i counts as places[i] in the graph of the result."""
    counts = np.bincount(graph.edge_sources, minlength=len(ids)).tolist()
    to_leaves = _slots_to_leaves(graph)
    names, modules, variables = graph.node_names, graph.node_modules, graph.node_variables
    for node, number in ids.items():
        recorder.watch(
            node,
            Watched(
                number=number,
                node=places[number],
                name=names[number],
                module=modules[number],
                slots=counts[number],
                to_leaves=to_leaves.get(number, []),
                leaf=_leaf(node, variables[number]) if names[number] == recorded.ACCUMULATE else None,
            ),
        )


def same_structure(graph: Graph, other: Graph) -> bool:
    """Whether two graphs, numbered alike, have the same nodes by name and the same edges."""
    return graph.node_names == other.node_names and graph.edge_columns == other.edge_columns


def _leaf(node: Any, name: str) -> LeafTensor:
    return LeafTensor(name, node.variable)


def _slots_to_leaves(graph: Graph) -> dict[int, list[tuple[int, int]]]:
    leaves = [number for number, name in enumerate(graph.node_names) if name == recorded.ACCUMULATE]
    edges = np.flatnonzero(np.isin(graph.edge_targets, leaves))
    found: dict[int, list[tuple[int, int]]] = {}
    columns = (graph.edge_sources, graph.edge_output_nrs, graph.edge_targets)
    for source, slot, target in zip(*(column[edges].tolist() for column in columns), strict=True):
        found.setdefault(source, []).append((slot, target))
    return found
