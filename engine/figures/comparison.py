"""What differs between two graphs: every node's mark and words, totals, and the difference of every module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from engine.figures.alignment import Alignment, align
from engine.figures.fold import addresses
from engine.figures.graph_union import Union, unite
from engine.figures.node_changes import node_changes
from engine.figures.saved_by_module import OUTSIDE, bytes_by_path
from engine.graph.spec import Graph


class Total(msgspec.Struct, frozen=True):
    """One number of both graphs; `unit` is "count" or "bytes"."""

    label: str
    unit: str
    a: int
    b: int


class ModuleDifference(msgspec.Struct, frozen=True):
    """What differs in one module itself (not below it); a storage counts where it is saved first in the forward."""

    path: str
    added: int
    removed: int
    changed: int
    saved_a_bytes: int
    saved_b_bytes: int


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Run A (pinned) and run B.

    `union` has the nodes of B with their ids, then those that only A has, numbered onwards; `ghosts` are their ids in
    A and `removed` their addresses there. `marks` ("", "added", "removed", "changed") and `changes` (words) go by id in
    the union. Totals and modules are of the real graphs.
    """

    a: Graph
    b: Graph
    union: Union
    ghosts: tuple[int, ...]
    removed: tuple[str, ...]
    marks: tuple[str, ...]
    changes: dict[int, tuple[str, ...]]
    totals: tuple[Total, ...]
    modules: tuple[ModuleDifference, ...]

    def ids(self, mark: str) -> tuple[int, ...]:
        """Ids in the union of all nodes with that mark."""
        return tuple(i for i, found in enumerate(self.marks) if found == mark)

    @property
    def paired_share(self) -> float:
        """Share of the nodes of the larger graph that have a partner, 0..1."""
        larger = max(len(self.a.nodes), len(self.b.nodes))
        return (len(self.a.nodes) - len(self.ghosts)) / larger if larger else 1.0


def compare_graphs(a: Graph, b: Graph) -> Compared:
    """Align two graphs and say what differs; equal graphs give no mark, and any two graphs can be compared."""
    alignment = align(a, b)
    nodes_a, nodes_b = tuple(a.nodes), tuple(b.nodes)
    changes = {j: words for i, j in alignment.pairs if (words := node_changes(nodes_a[i], nodes_b[j]))}
    marks = [""] * len(nodes_b) + ["removed"] * len(alignment.removed)
    for j in alignment.added:
        marks[j] = "added"
    for j in changes:
        marks[j] = "changed"
    union = unite(a, b, alignment)
    return Compared(
        a=a,
        b=b,
        union=union,
        ghosts=alignment.removed,
        removed=_addresses(a, alignment),
        marks=tuple(marks),
        changes=changes,
        totals=_totals(a, b),
        modules=_modules(a, b, [node.module for node in union.graph.nodes], marks),
    )


def _addresses(a: Graph, alignment: Alignment) -> tuple[str, ...]:
    names = addresses(a, alignment.ranks_a) if alignment.removed else []
    return tuple(names[i] for i in alignment.removed)


def _totals(a: Graph, b: Graph) -> tuple[Total, ...]:
    numbers = [("nodes", len(a.nodes), len(b.nodes)), ("edges", _wired(a), _wired(b))]
    sizes = [("saved bytes", a.saved_bytes, b.saved_bytes)]
    for kind in ("parameter", "input", "buffer", "intermediate"):
        sizes.append((f"saved of {kind}s", getattr(a, f"{kind}_bytes"), getattr(b, f"{kind}_bytes")))
    return (
        *(Total(label, "count", *values) for label, *values in numbers),
        *(Total(label, "bytes", *values) for label, *values in sizes),
        Total("slots dropped by checkpoint", "count", a.dropped_slots, b.dropped_slots),
    )


def _wired(graph: Graph) -> int:
    return sum(edge.target is not None for edge in graph.edges)


def _modules(a: Graph, b: Graph, paths: Sequence[str], marks: Sequence[str]) -> tuple[ModuleDifference, ...]:
    """Modules with any difference, the largest first: by bytes, then by nodes."""
    counted = Counter((path or OUTSIDE, mark) for path, mark in zip(paths, marks, strict=True) if mark)
    before, after = (_sums(bytes_by_path(graph)) for graph in (a, b))
    touched = dict.fromkeys([path for path, _ in counted] + [*before, *after])
    rows = [
        ModuleDifference(
            path,
            counted[path, "added"],
            counted[path, "removed"],
            counted[path, "changed"],
            before.get(path, 0),
            after.get(path, 0),
        )
        for path in touched
    ]
    kept = [row for row in rows if row.added or row.removed or row.changed or row.saved_a_bytes != row.saved_b_bytes]
    return tuple(sorted(kept, key=_largest))


def _largest(row: ModuleDifference) -> tuple[int, int]:
    return -abs(row.saved_b_bytes - row.saved_a_bytes), -(row.added + row.removed + row.changed)


def _sums(rows: Mapping[str, Counter[str]]) -> dict[str, int]:
    return {path: sum(row.values()) for path, row in rows.items()}
