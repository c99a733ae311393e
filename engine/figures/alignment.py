"""Which node of graph A corresponds to which node of graph B: by module path and order of operations.

Leaves pair by the name of their variable. Everything else pairs within its own module path, along a heaviest common
subsequence of operations in forward order (Needleman and Wunsch 1970), where shape and dtype break ties. A module whose
path changed has no partner: with one layer more, `layers.3` is new although the head behind it only moved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from engine.figures.fold import forward_order, is_leaf, operation_name
from engine.graph.spec import Graph, Node

WINDOW = 512
"""Longest stretch aligned at once; longer ones go window by window, each result used up to its middle."""
SKIP = 1
SAME_NAME, SAME_DTYPE, SAME_SHAPE = (2 * WINDOW * SKIP * k for k in (1, 2, 4))
SAME_OPERATION = 8 * WINDOW * SAME_NAME
"""Worth of a pair: the number of pairs counts first, then how well they fit, then how few nodes are skipped between."""

Token = tuple[str, object, str, str]
"""Operation, shape and dtype of its first output, full name."""
Ranked = tuple[int, ...]
"""Node ids in forward order."""
Leaves = dict[tuple[str, str], list[int]]
Table = npt.NDArray[np.int64]


class Alignment(msgspec.Struct, frozen=True):
    """Pairs (node of A, node of B) in B's forward order, and the nodes without a partner, each in its forward order.

    `order_a` and `order_b` are the nodes that are no leaves, in forward order; pairs of them keep both orders.
    """

    pairs: tuple[tuple[int, int], ...]
    removed: Ranked
    added: Ranked
    order_a: Ranked
    order_b: Ranked


def align(a: Graph, b: Graph) -> Alignment:
    """Pair the nodes of two graphs. Deterministic; near linear while the graphs are alike or their modules small."""
    order_a, order_b = _order(a), _order(b)
    leaves_a, rest_a = _sorted_out(a, order_a)
    leaves_b, rest_b = _sorted_out(b, order_b)
    leaves = [pair for key, found in leaves_a.items() for pair in zip(found, leaves_b.get(key, ()), strict=False)]
    nodes_a, nodes_b = tuple(a.nodes), tuple(b.nodes)
    rank_a, rank_b = _ranks(order_a), _ranks(order_b)
    rest = [
        pair
        for path, found in rest_a.items()
        if path in rest_b
        for pair in _aligned(nodes_a, found, nodes_b, rest_b[path])
    ]
    rest.sort(key=lambda pair: rank_b[pair[1]])
    kept = _longest_rising([rank_a[first] for first, _ in rest])
    pairs = sorted(leaves + [rest[i] for i in kept], key=lambda pair: rank_b[pair[1]])
    known_a, known_b = {first for first, _ in pairs}, {second for _, second in pairs}
    return Alignment(
        pairs=tuple(pairs),
        removed=tuple(i for i in order_a if i not in known_a),
        added=tuple(i for i in order_b if i not in known_b),
        order_a=_inner(order_a, leaves_a),
        order_b=_inner(order_b, leaves_b),
    )


def _order(graph: Graph) -> Ranked:
    keys = forward_order(graph)
    return tuple(sorted(range(len(keys)), key=keys.__getitem__))


def _inner(order: Ranked, leaves: Leaves) -> Ranked:
    outside = {index for found in leaves.values() for index in found}
    return tuple(index for index in order if index not in outside)


def _ranks(order: Ranked) -> list[int]:
    ranks = [0] * len(order)
    for rank, node in enumerate(order):
        ranks[node] = rank
    return ranks


def _sorted_out(graph: Graph, order: Ranked) -> tuple[Leaves, dict[str, list[int]]]:
    """(leaves by variable, other nodes by module path), each in forward order."""
    consumers = {edge.source for edge in graph.edges if edge.target is not None}
    leaves: Leaves = defaultdict(list)
    rest: dict[str, list[int]] = defaultdict(list)
    nodes = tuple(graph.nodes)
    for index in order:
        node = nodes[index]
        if index not in consumers and is_leaf(node):
            leaves[(node.variable, "" if node.variable else node.module)].append(index)
        else:
            rest[node.module].append(index)
    return leaves, rest


def _token(node: Node) -> Token:
    first = node.inputs[0] if node.inputs else None
    return operation_name(node.name), first and first.shape, first.dtype if first else "", node.name


def _aligned(nodes_a: Sequence[Node], a: list[int], nodes_b: Sequence[Node], b: list[int]) -> list[tuple[int, int]]:
    """Pairs within one module: what is the same at both ends, and the best of the rest."""
    tokens_a, tokens_b = [_token(nodes_a[i]) for i in a], [_token(nodes_b[i]) for i in b]
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if tokens_a[i] != tokens_b[i]), shorter)
    room = shorter - head
    tail = next((i for i in range(room) if tokens_a[-1 - i] != tokens_b[-1 - i]), room)
    end_a, end_b = len(a) - tail, len(b) - tail
    inner = _best(tokens_a[head:end_a], tokens_b[head:end_b])
    places = [(i, i) for i in range(head)]
    places += [(head + i, head + j) for i, j in inner]
    places += [(end_a + i, end_b + i) for i in range(tail)]
    return [(a[i], b[j]) for i, j in places]


def _best(a: list[Token], b: list[Token]) -> list[tuple[int, int]]:
    """The same pairs whichever graph comes first."""
    if str(a) > str(b):
        return [(i, j) for j, i in _windows(b, a)]
    return _windows(a, b)


def _windows(a: list[Token], b: list[Token]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    at_a = at_b = 0
    while at_a < len(a) and at_b < len(b):
        last = at_a + WINDOW >= len(a) and at_b + WINDOW >= len(b)
        found = _heaviest(a[at_a : at_a + WINDOW], b[at_b : at_b + WINDOW])
        if not last:
            found = [(i, j) for i, j in found if 2 * i < WINDOW and 2 * j < WINDOW]
        pairs += [(at_a + i, at_b + j) for i, j in found]
        if last:
            break
        step_a, step_b = (found[-1][0] + 1, found[-1][1] + 1) if found else (WINDOW // 2, WINDOW // 2)
        at_a, at_b = at_a + step_a, at_b + step_b
    return pairs


def _heaviest(a: list[Token], b: list[Token]) -> list[tuple[int, int]]:
    """Increasing pairs of one operation with the greatest total worth; skipping behind the last costs nothing."""
    worth, steps = _worth(a, b), SKIP * np.arange(len(b))
    best = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) - 1, -1, -1):
        paired = np.where(worth[i] > 0, best[i + 1, 1:] + worth[i], 0)
        row = np.maximum(best[i + 1, :-1] - SKIP, paired)
        best[i, :-1] = np.maximum(np.maximum.accumulate((row - steps)[::-1])[::-1] + steps, 0)
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b) and best[i, j]:
        if worth[i, j] and best[i, j] == best[i + 1, j + 1] + worth[i, j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i, j] == best[i + 1, j] - SKIP:
            i += 1
        else:
            j += 1
    return pairs


def _worth(a: list[Token], b: list[Token]) -> Table:
    """What pairing a[i] with b[j] is worth, 0 for two operations."""
    first, second = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    operation, shape, dtype, name = (_equal([t[k] for t in first], [t[k] for t in second]) for k in range(4))
    worth: Table = operation * (SAME_OPERATION + SAME_SHAPE * shape + SAME_DTYPE * dtype + SAME_NAME * name)
    places_a, places_b = ({token: i for i, token in enumerate(kinds)} for kinds in (first, second))
    spread: Table = worth[np.ix_([places_a[token] for token in a], [places_b[token] for token in b])]
    return spread


def _equal(a: list[object], b: list[object]) -> Table:
    """Table (len(a), len(b)): 1 where they are equal."""
    numbers: dict[object, int] = {}
    first = np.array([numbers.setdefault(value, len(numbers)) for value in a])
    second = np.array([numbers.setdefault(value, len(numbers)) for value in b])
    return (first[:, None] == second[None, :]).astype(np.int64)


def _longest_rising(values: list[int]) -> list[int]:
    """Positions of a longest increasing subsequence of different `values`."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        place = bisect_left(ends, value)
        before.append(at[place - 1] if place else -1)
        ends[place : place + 1] = [value]
        at[place : place + 1] = [position]
    found, position = [], at[-1] if at else -1
    while position >= 0:
        found.append(position)
        position = before[position]
    return found[::-1]
