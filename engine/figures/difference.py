"""Which nodes run B has and A has not, by address."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.figures.fold import addresses, forward_order
from engine.graph.spec import Graph


class Difference(msgspec.Struct, frozen=True):
    """Addresses of nodes only in B (`added`) and only in A (`removed`), in forward order of their graph."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


def difference(graph_a: Graph, graph_b: Graph) -> Difference:
    """Compare by address: module, operation and how many-th of its kind there; identical graphs differ in nothing."""
    names_a, names_b = _ordered(graph_a), _ordered(graph_b)
    known_a, known_b = set(names_a), set(names_b)
    return Difference(
        added=tuple(name for name in names_b if name not in known_a),
        removed=tuple(name for name in names_a if name not in known_b),
    )


def _ordered(graph: Graph) -> list[str]:
    keys = forward_order(graph)
    names = addresses(graph, keys)
    return [names[i] for i in sorted(range(len(names)), key=keys.__getitem__)]


def unmatched(graph: Graph, pinned: Graph | None, names: Sequence[str]) -> frozenset[int]:
    """Node ids of `graph` that `pinned` has no node for; none without a pinned graph."""
    if pinned is None:
        return frozenset()
    known = set(addresses(pinned, forward_order(pinned)))
    return frozenset(i for i, name in enumerate(names) if name not in known)


def removed_per_group(graph: Graph, pinned: Graph | None, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Addresses only in `pinned`, under every module path around them; "" has them all."""
    if pinned is None:
        return {}
    known, found = set(names), {}  # type: tuple[set[str], dict[str, list[str]]]
    for index, name in enumerate(addresses(pinned, forward_order(pinned))):
        if name not in known:
            node = pinned.nodes[index]
            parts = (node.module or node.variable.rpartition(".")[0]).split(".")
            for depth in range(len(parts) + 1):
                found.setdefault(".".join(parts[:depth]), []).append(name)
    return {path: tuple(gone) for path, gone in found.items()}
