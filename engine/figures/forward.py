"""The forward again: nodes in the order in which their operations ran, and names that stay the same between runs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.graph.spec import Graph, Node

Integers = npt.NDArray[np.int64]

_NUMBERED = 1 << 62
"""Sequence numbers from here up say nothing of the order."""


def is_leaf(node: Node) -> bool:
    """Whether `node` only accumulates into a leaf's `.grad`."""
    return node.kind == "leaf" or "AccumulateGrad" in node.name


def leaves_of(graph: Graph) -> npt.NDArray[np.bool_]:
    """`is_leaf` of every node."""
    columns = graph.node_columns
    return columns.kind.are(lambda kind: kind == "leaf") | columns.name.are(lambda name: "AccumulateGrad" in name)


def forward_order(graph: Graph) -> list[int]:
    """Position of every node in a linear extension of the forward, following sequence numbers where it may.

    Nodes without a number (leaves) come right before their first consumer. Needs an acyclic graph; nodes on a cycle
    raise ValueError.
    """
    used = graph.edge_targets >= 0
    sources, targets = graph.edge_sources[used], graph.edge_targets[used]
    wanted = _wanted(graph, sources, targets)
    if (wanted[targets] >= wanted[sources]).any():
        return _extended(wanted, sources, targets)
    found: list[int] = wanted.tolist()
    return found


def _wanted(graph: Graph, sources: Integers, targets: Integers) -> Integers:
    """Place of every node by sequence number alone; a leaf waits until its first consumer is next."""
    numbers = graph.node_sequence_nrs
    numbered = (numbers >= 0) & (numbers < _NUMBERED) & ~leaves_of(graph)
    first = np.full(numbers.size, _NUMBERED)
    waits = numbered[sources] & ~numbered[targets]
    np.minimum.at(first, targets[waits], numbers[sources[waits]])
    value = np.where(numbered, numbers, np.where(first == _NUMBERED, -1, first))
    order = np.lexsort((numbered, value))
    wanted = np.empty(numbers.size, dtype=np.int64)
    wanted[order] = np.arange(numbers.size)
    return wanted


def _extended(wanted: Integers, sources: Integers, targets: Integers) -> list[int]:
    """The linear extension that takes, of the nodes whose inputs are there, always the one wanted first."""
    count = wanted.size
    successors: list[list[int]] = [[] for _ in range(count)]
    for place, after in zip(wanted[targets].tolist(), wanted[sources].tolist(), strict=True):
        successors[place].append(after)
    pending: list[int] = np.bincount(wanted[sources], minlength=count).tolist()
    ready = [place for place in range(count) if not pending[place]]
    taken = np.empty(count, dtype=np.int64)
    for position in range(count):
        if not ready:
            raise ValueError(f"An autograd graph has no cycles; {count - position} nodes are on one. Trace it again.")
        place = heapq.heappop(ready)
        taken[place] = position
        for after in successors[place]:
            pending[after] -= 1
            if not pending[after]:
                heapq.heappush(ready, after)
    found: list[int] = taken[wanted].tolist()
    return found


def addresses(graph: Graph, keys: Sequence[int]) -> list[str]:
    """A stable name per node: "module/AddmmBackward0#0", "weight/AccumulateGrad#0"; counts run in forward order."""
    columns, leaf = graph.node_columns, leaves_of(graph)
    modules, variables = columns.module, columns.variable
    place = np.where(leaf, variables.places() + len(modules.table), modules.places())
    which = place * len(columns.name.table) + columns.name.places()
    words = (*modules.table, *variables.table), [name.replace("torch::autograd::", "") for name in columns.name.table]
    different, code = np.unique(which, return_inverse=True)
    pairs = (divmod(one, len(words[1])) for one in different.tolist())
    prefixes = [f"{words[0][place]}/{words[1][name]}#" for place, name in pairs]
    groups: dict[str, int] = {}
    group = np.array([groups.setdefault(prefix, len(groups)) for prefix in prefixes], dtype=np.int64)[code]
    counts = _counted(group, np.array(keys, dtype=np.int64)).tolist()
    return [f"{prefixes[one]}{count}" for one, count in zip(code.tolist(), counts, strict=True)]


def _counted(group: Integers, keys: Integers) -> Integers:
    """How many members of its group every node comes after, by keys."""
    order = np.lexsort((keys, group))
    sizes = np.bincount(group)
    counts = np.empty(group.size, dtype=np.int64)
    counts[order] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return counts
