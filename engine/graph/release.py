"""Let deep graphs die without recursion after their nodes were looked at from Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.graph.spec import Edge

DEEP = 5_000
"""Nodes below which recursion is harmless: torch 2.13 overflows an 8 MiB stack between 40,000 and 60,000 in a row."""

STRIDE = 1_000
_KEY = "torch_atlas_release_order"


def release_iteratively(nodes: list[Any], edges: Iterable[Edge]) -> None:
    """Give a graph of more than DEEP nodes an order to be freed in, so that dropping it cannot overflow the stack.

    From torch 2.13 on a node that Python has seen is freed by its wrapper, one C call inside the other, and a chain of
    50,000 kills the process. Every STRIDE-th node gets, in its `metadata`, the nodes after it in topological order:
    they die once its edges are gone, nearest first, each while the next is still held. Only nodes that come later are
    held, so no cycle arises.
    """
    if len(nodes) <= DEEP:
        return
    order = _topological(len(nodes), edges)
    for start in range(0, len(order), STRIDE):
        followers = [nodes[number] for number in order[start + 1 : start + 1 + STRIDE]]
        nodes[order[start]].metadata[_KEY] = followers[::-1]


def _topological(count: int, edges: Iterable[Edge]) -> list[int]:
    targets: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for edge in edges:
        if edge.target is not None:
            targets[edge.source].append(edge.target)
            waiting[edge.target] += 1
    order = [number for number in range(count) if not waiting[number]]
    for number in order:
        for target in targets[number]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return order
