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

from engine.figures.fold import forward_order, operation_name
from engine.graph.spec import Graph, TensorMetadata

WINDOW = 512
USED = 384
"""Longest stretch aligned at once; longer ones go window by window, and of each result the front is used."""
SKIP = 1
SAME_NAME, SAME_DTYPE, SAME_SHAPE = (2 * WINDOW * SKIP * k for k in (1, 2, 4))
SAME_OPERATION = 8 * WINDOW * SAME_NAME
"""Worth of a pair: the number of pairs counts first, then how well they fit, then how few nodes are skipped between."""
NEVER = -(1 << 60)

Token = tuple[str, object, str, str]
"""Operation, shape and dtype of its first output, full name."""
Ranked = tuple[int, ...]
"""Node ids in forward order."""
Leaves = dict[tuple[str, str], list[int]]
Table = npt.NDArray[np.int64]


class Alignment(msgspec.Struct, frozen=True):
    """Pairs (node of A, node of B) in B's forward order, and the nodes without a partner, each in its forward order.

    `ranks_a` and `ranks_b` are `forward_order`; `order_a` and `order_b` the nodes that are no leaves, in that order.
    Pairs of those keep both orders.
    """

    pairs: tuple[tuple[int, int], ...]
    removed: Ranked
    added: Ranked
    order_a: Ranked
    order_b: Ranked
    ranks_a: list[int]
    ranks_b: list[int]


def align(a: Graph, b: Graph) -> Alignment:
    """Pair the nodes of two graphs; the same pairs whichever comes first.

    Near linear while the graphs are alike or their modules small, at most linear times `WINDOW` else.
    """
    if _turned(a, b):
        back = _align(b, a)
        rank = back.ranks_a
        return Alignment(
            pairs=tuple(sorted(((i, j) for j, i in back.pairs), key=lambda pair: rank[pair[1]])),
            removed=back.added,
            added=back.removed,
            order_a=back.order_b,
            order_b=back.order_a,
            ranks_a=back.ranks_b,
            ranks_b=back.ranks_a,
        )
    return _align(a, b)


def _turned(a: Graph, b: Graph) -> bool:
    """Which of two graphs is aligned to the other where several alignments are as good."""
    if len(a.nodes) != len(b.nodes):
        return len(a.nodes) > len(b.nodes)
    return _told(a) > _told(b)


def _told(graph: Graph) -> tuple[list[str], list[str], list[int], list[int], list[int]]:
    edges = graph.edge_sources.tolist(), graph.edge_targets.tolist()
    return graph.node_names, graph.node_modules, *edges, graph.node_sequence_nrs.tolist()


def _align(a: Graph, b: Graph) -> Alignment:
    rank_a, rank_b = forward_order(a), forward_order(b)
    order_a, order_b = _order(rank_a), _order(rank_b)
    leaves_a, rest_a = _sorted_out(a, order_a)
    leaves_b, rest_b = _sorted_out(b, order_b)
    leaves = [pair for key, found in leaves_a.items() for pair in zip(found, leaves_b.get(key, ()), strict=False)]
    rest = [pair for path, found in rest_a.items() if path in rest_b for pair in _aligned(a, found, b, rest_b[path])]
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
        ranks_a=rank_a,
        ranks_b=rank_b,
    )


def _order(ranks: Sequence[int]) -> Ranked:
    return tuple(sorted(range(len(ranks)), key=ranks.__getitem__))


def _inner(order: Ranked, leaves: Leaves) -> Ranked:
    outside = {index for found in leaves.values() for index in found}
    return tuple(index for index in order if index not in outside)


def _sorted_out(graph: Graph, order: Ranked) -> tuple[Leaves, dict[str, list[int]]]:
    """(leaves by variable, other nodes by module path), each in forward order."""
    consumers = set(graph.edge_sources[graph.edge_targets >= 0].tolist())
    names, kinds, modules, variables = graph.node_names, graph.node_kinds, graph.node_modules, graph.node_variables
    leaves: Leaves = defaultdict(list)
    rest: dict[str, list[int]] = defaultdict(list)
    for index in order:
        module, variable = modules[index], variables[index]
        if (kinds[index] == "leaf" or "AccumulateGrad" in names[index]) and index not in consumers:
            leaves[(variable, "" if variable else module)].append(index)
        else:
            rest[module].append(index)
    return leaves, rest


def _tokens(graph: Graph, nodes: Sequence[int]) -> list[Token]:
    names, received = graph.node_names, graph.node_received
    return [_token(names[index], received[index]) for index in nodes]


def _token(name: str, received: Sequence[TensorMetadata]) -> Token:
    first = received[0] if received else None
    return operation_name(name), first and first.shape, first.dtype if first else "", name


def _aligned(graph_a: Graph, a: list[int], graph_b: Graph, b: list[int]) -> list[tuple[int, int]]:
    """Pairs within one module: what is the same at both ends, and the best of the rest."""
    tokens_a, tokens_b = _tokens(graph_a, a), _tokens(graph_b, b)
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
            found = [(i, j) for i, j in found if i < USED and j < USED]
        pairs += [(at_a + i, at_b + j) for i, j in found]
        if last:
            break
        step_a, step_b = (found[-1][0] + 1, found[-1][1] + 1) if found else (USED, USED)
        at_a, at_b = at_a + step_a, at_b + step_b
    return pairs


def _heaviest(a: list[Token], b: list[Token]) -> list[tuple[int, int]]:
    """Increasing pairs of one operation with the greatest total worth; skipping behind the last costs nothing."""
    worth, steps = _worth(a, b), SKIP * np.arange(len(b))
    best = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) - 1, -1, -1):
        row = best[i + 1, 1:] + worth[i]
        np.maximum(row, best[i + 1, :-1] - SKIP, out=row)
        row -= steps
        row = np.maximum.accumulate(row[::-1])[::-1] + steps
        np.maximum(row, 0, out=best[i, :-1])
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b) and best[i, j]:
        if worth[i, j] > 0 and best[i, j] == best[i + 1, j + 1] + worth[i, j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i, j] == best[i + 1, j] - SKIP:
            i += 1
        else:
            j += 1
    return pairs


def _worth(a: list[Token], b: list[Token]) -> Table:
    """What pairing a[i] with b[j] is worth; two operations never pair."""
    first, second = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    operation, shape, dtype, name = (_equal([t[k] for t in first], [t[k] for t in second]) for k in range(4))
    fit = SAME_OPERATION + SAME_SHAPE * shape + SAME_DTYPE * dtype + SAME_NAME * name
    worth: Table = np.where(operation == 1, fit, NEVER)
    places_a, places_b = ({token: i for i, token in enumerate(kinds)} for kinds in (first, second))
    spread: Table = worth[np.ix_([places_a[token] for token in a], [places_b[token] for token in b])]
    return spread


def _equal(a: list[object], b: list[object]) -> Table:
    """Table (len(a), len(b)): 1 where they are equal."""
    numbers: dict[object, int] = {}
    first = np.array([numbers.setdefault(value, len(numbers)) for value in a])
    second = np.array([numbers.setdefault(value, len(numbers)) for value in b])
    equal: Table = (first[:, None] == second[None, :]).astype(np.int64)
    return equal


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
