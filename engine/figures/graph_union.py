"""Two aligned graphs as one without cycles: the nodes of B with their ids, then those only A has, as ghosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from engine.figures.alignment import Alignment
from engine.figures.fold import addresses
from engine.graph.spec import Edge, Graph, Node

DETOUR = 6
"""Added nodes in a row that are followed to see that they only stand in the middle of an old edge."""

Pair = tuple[int, int]
Place = tuple[int, str]
"""Id in the union and module path."""


class Union(msgspec.Struct, frozen=True):
    """The graph, the address of every node, and (source, target) of edges that only A (`gone`) or only B has.

    Nodes of B keep their addresses; a ghost gets the next free number of its name.
    """

    graph: Graph
    addresses: tuple[str, ...]
    gone: frozenset[Pair]
    added: frozenset[Pair]


def unite(a: Graph, b: Graph, alignment: Alignment) -> Union:
    """A ghost saves nothing in the union: it is for drawing, and what it saved is part of A only."""
    nodes_a, nodes_b = tuple(a.nodes), tuple(b.nodes)
    place = dict(alignment.pairs) | {i: len(nodes_b) + k for k, i in enumerate(alignment.removed)}
    rank = {number: position for position, number in enumerate(_merged(nodes_a, nodes_b, alignment, place))}
    nodes = [_drawn(node, node.id, rank.get(node.id)) for node in nodes_b]
    nodes += [_ghost(nodes_a[i], place[i], rank.get(place[i])) for i in alignment.removed]
    edges_b = tuple(b.edges)
    before = {(place[edge.source], place[edge.target]) for edge in a.edges if edge.target is not None}
    gone = _gone(a, edges_b, place, frozenset(alignment.added))
    graph = Graph.of(nodes, (*edges_b, *gone), b.roots, notes=b.notes)
    return Union(
        graph=graph,
        addresses=tuple(addresses(graph, [*alignment.ranks_b, *range(len(nodes_b), len(nodes))])),
        gone=frozenset((edge.source, edge.target) for edge in gone if edge.target is not None),
        added=frozenset(
            (edge.source, edge.target)
            for edge in edges_b
            if edge.target is not None and (edge.source, edge.target) not in before
        ),
    )


def _drawn(node: Node, number: int, rank: int | None) -> Node:
    """The node with the sequence number that leads through both forwards at once."""
    return (
        node
        if node.sequence_nr == rank and node.id == number
        else msgspec.structs.replace(node, id=number, sequence_nr=rank)
    )


def _ghost(node: Node, number: int, rank: int | None) -> Node:
    return msgspec.structs.replace(node, id=number, sequence_nr=rank, saved=(), attributes=())


def _merged(a: Sequence[Node], b: Sequence[Node], alignment: Alignment, place: dict[int, int]) -> Iterator[int]:
    """Ids in the union, in an order that keeps A's and B's."""
    ghosts, added = frozenset(alignment.removed), frozenset(alignment.added)
    rest_a, rest_b = iter(alignment.order_a), iter(alignment.order_b)
    path = ""
    while True:
        lost, _ = _until(rest_a, lambda i: i not in ghosts)
        new, anchor = _until(rest_b, lambda j: j not in added)
        for number, module in _interleaved(
            [(place[i], a[i].module) for i in lost], [(j, b[j].module) for j in new], path
        ):
            path = module
            yield number
        if anchor is None:
            return
        path = b[anchor].module
        yield anchor


def _until(rest: Iterator[int], stop: Callable[[int], bool]) -> tuple[list[int], int | None]:
    """(what comes before the next that stops, that one or None at the end)."""
    before: list[int] = []
    for number in rest:
        if stop(number):
            return before, number
        before.append(number)
    return before, None


def _interleaved(lost: list[Place], new: list[Place], path: str) -> Iterator[Place]:
    """Both lists in their order, so that what is of one module stays together as far as it can."""
    at_lost = at_new = 0
    while at_lost < len(lost) or at_new < len(new):
        take_lost = at_new == len(new) or (
            at_lost < len(lost) and _shared(lost[at_lost][1], path) >= _shared(new[at_new][1], path)
        )
        chosen = lost[at_lost] if take_lost else new[at_new]
        at_lost, at_new = at_lost + take_lost, at_new + (not take_lost)
        path = chosen[1]
        yield chosen


def _shared(path: str, other: str) -> int:
    """How close two module paths are: levels in common, and a bit for being the same."""
    if path == other:
        return 1_000
    parts, others = path.split("."), other.split(".")
    return next(
        (k for k, (one, two) in enumerate(zip(parts, others, strict=False)) if one != two), min(len(parts), len(others))
    )


def _gone(a: Graph, edges_b: Sequence[Edge], place: dict[int, int], added: frozenset[int]) -> list[Edge]:
    """A's edges that B has not, except where B leads the same way through added nodes (a cast in between)."""
    after: dict[int, list[int]] = {}
    for edge in edges_b:
        if edge.target is not None:
            after.setdefault(edge.source, []).append(edge.target)
    gone = []
    for edge in a.edges:
        if edge.target is None:
            continue
        source, target = place[edge.source], place[edge.target]
        following = after.get(source, ())
        if target not in following and not _leads(after, following, target, added):
            gone.append(Edge(source, edge.output_nr, target, edge.input_nr))
    return gone


def _leads(after: dict[int, list[int]], following: Sequence[int], target: int, added: frozenset[int]) -> bool:
    reached = set(following) & added
    for _ in range(DETOUR):
        beyond = {node for start in reached for node in after.get(start, ())}
        if target in beyond:
            return True
        reached = beyond & added
        if not reached:
            return False
    return False
