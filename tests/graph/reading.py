"""Ways the tests look at a graph, independent of how the walk works."""

from __future__ import annotations

from typing import Any

import torch

from engine.graph.spec import Edge, Graph, Node, Saved


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def node(graph: Graph, name: str) -> Node:
    """The only node whose name starts with `name`."""
    (found,) = [one for one in graph.nodes if one.name.startswith(name)]
    return found


def edges_of(graph: Graph, number: int) -> list[Edge]:
    return [edge for edge in graph.edges if edge.source == number]


def targets(graph: Graph, number: int) -> list[str | None]:
    """What each slot of a node leads to: the leaf's variable, the node's name, or None."""
    found = []
    for edge in edges_of(graph, number):
        one = None if edge.target is None else graph.nodes[edge.target]
        found.append(None if one is None else one.variable or one.name)
    return found


def slot(graph: Graph, name: str, saved: str) -> Saved:
    (found,) = [one for one in node(graph, name).saved if one.name == saved]
    return found


def recursive_edges(root: Any) -> set[tuple[Any, int, Any, int]]:
    """Every (node, slot, target, input number) by a second method: depth first over `next_functions`."""
    found, waiting, seen = set(), [root], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for number, (target, input_nr) in enumerate(one.next_functions):
            found.add((one, number, target, input_nr))
            if target is not None:
                waiting.append(target)
    return found


def bytes_by_hooks(compute: Any) -> tuple[Any, int]:
    """(what `compute` returns, bytes of the distinct storages that `saved_tensors_hooks` sees it save)."""
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr() or id(storage)] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = compute()
    return result, sum(storage.nbytes() for storage in kept.values())
