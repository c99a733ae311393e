"""Let deep graphs die without recursion after their nodes were looked at from Python."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

DEEP = 5_000
"""Nodes below which recursion is harmless: torch 2.13 overflows an 8 MiB stack between 40,000 and 60,000 in a row."""

STRIDE = 1_000
_KEY = "torch_atlas_release_order"


def release_iteratively(nodes: list[Any], counts: list[int], targets: list[int]) -> None:
    """Give a graph of more than DEEP nodes an order to be freed in, so that dropping it cannot overflow the stack.

    Node i has counts[i] slots; `targets` says where each leads, one node after the other, -1 for nowhere.

    From torch 2.13 on a node that Python has seen is freed by its wrapper, one C call inside the other, and a chain of
    50,000 kills the process, long after the reading and wherever the last reference goes. Raising the stack limit would
    need a thread of our own, freeing in a loop a moment we are told of: nobody tells. So of every STRIDE nodes in
    topological order the first, and every one it does not reach, get in their `metadata` the nodes they do reach: those
    die once its edges are gone, nearest first, each while the next is still held. A node already holds what it reaches
    through its edges, so nothing lives longer and no cycle arises.
    """
    if len(nodes) <= DEEP:
        return
    following, order = _topological(counts, targets)
    for start in range(0, len(order), STRIDE):
        for first, reached in _covers(order[start : start + STRIDE], following):
            nodes[first].metadata[_KEY] = [nodes[number] for number in reversed(reached)]


def _covers(window: list[int], targets: list[list[int]]) -> Iterable[tuple[int, list[int]]]:
    """(node, those of the window that it reaches), each node of the window once; those that reach none are left out."""
    owner = dict.fromkeys(window, -1)
    reached: dict[int, list[int]] = {}
    for number in window:
        first = owner[number]
        if first < 0:
            first = number
        else:
            reached.setdefault(first, []).append(number)
        for target in targets[number]:
            if owner.get(target) == -1:
                owner[target] = first
    return reached.items()


def _topological(counts: list[int], targets: list[int]) -> tuple[list[list[int]], list[int]]:
    """(targets of every node, all nodes so that every edge leads forward)."""
    ends = list(accumulate(counts))
    following = [
        [one for one in targets[end - count : end] if one >= 0] for count, end in zip(counts, ends, strict=True)
    ]
    waiting = [0] * len(counts)
    for target in targets:
        if target >= 0:
            waiting[target] += 1
    order = [number for number, count in enumerate(waiting) if not count]
    for number in order:
        for target in following[number]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return following, order
