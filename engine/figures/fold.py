"""Which autograd nodes get a box of their own, and which become part of a neighbour's label.

All in forward order: a node's *consumer* is the node that used its output in the forward (`Edge.source`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from engine.figures.forward import addresses, forward_order, is_leaf, leaves_of
from engine.graph.spec import Graph, Node

__all__ = ["addresses", "forward_order", "is_leaf"]

Integers = npt.NDArray[np.int64]

TRANSPOSES = frozenset({"TBackward", "TransposeBackward", "PermuteBackward", "NumpyTBackward", "MtBackward"})
RESHAPES = frozenset(
    {
        "ViewBackward",
        "UnsafeViewBackward",
        "ReshapeAliasBackward",
        "ExpandBackward",
        "UnsqueezeBackward",
        "SqueezeBackward",
        "AliasBackward",
        "FlattenBackward",
        "UnflattenBackward",
        "ViewAsBackward",
    }
)
COPIES = frozenset({"ToCopyBackward", "CopyBackward", "ToBackward"})
UNNAMED = "unnamed leaf"


class LeafUse(msgspec.Struct, frozen=True):
    """One use of a leaf by the box that shows it: AccumulateGrad node, name, owner kind, nodes on the way.

    `slots` are the places in the box's `next_functions` that it comes in by; several when a folded view is used twice.
    """

    node: int
    name: str
    kind: str
    through: tuple[str, ...]
    slots: tuple[int, ...] = ()


class Folded(msgspec.Struct, frozen=True):
    """Nodes with a box, in forward order, and what each absorbed.

    `host[i]` is the node whose box shows node i (itself when it has one, -1 for a leaf, which is drawn per use);
    `absorbed[i]` the nodes in i's label, `leaves[i]` its leaf markers. With leaves as boxes, `uses[edge index]` is the
    box of that use, numbered after the nodes, and `copies[box]` the AccumulateGrad node it stands for.
    """

    order: tuple[int, ...]
    host: tuple[int, ...]
    absorbed: dict[int, tuple[int, ...]]
    leaves: dict[int, tuple[LeafUse, ...]]
    keys: tuple[int, ...]
    uses: dict[int, int]
    copies: dict[int, int]


class FoldToggles(msgspec.Struct, frozen=True):
    """What goes into the consumer's label instead of a box."""

    leaves: bool = True
    transposes: bool = True
    views: bool = True
    copies: bool = False


def operation_name(name: str) -> str:
    """ "AddmmBackward0" -> "Addmm"; a custom Function keeps its class name."""
    return re.sub(r"Backward\d*$", "", name) or name


def stem(name: str) -> str:
    """ "TBackward0" -> "TBackward"."""
    return name.rstrip("0123456789")


def box_kind(node: Node) -> str:
    """The palette's word for `node`."""
    if is_leaf(node):
        return _kind_by_name(node.variable)
    if stem(node.name) in COPIES:
        return "copy"
    return "view" if node.kind == "operation" and stem(node.name) in TRANSPOSES | RESHAPES else node.kind


def _kind_by_name(variable: str) -> str:
    return "parameter" if "." in variable or variable.startswith("weight") else "input"


def fold(graph: Graph, toggles: FoldToggles | None = None, kinds: Mapping[str, str] | None = None) -> Folded:
    """Decide every node's box; `kinds` maps leaf names to owner kinds. Linear in nodes and edges."""
    toggles = toggles or FoldToggles()
    keys = np.array(forward_order(graph), dtype=np.int64)
    host = _hosts(graph, keys, toggles)
    absorbed = _absorbed(keys, host)
    leaves = _leaf_uses(graph, host, kinds or {}) if toggles.leaves else {}
    uses, copies, before = ({}, {}, {}) if toggles.leaves else _leaf_boxes(graph, host)
    return Folded(
        order=_boxes(keys, host, before),
        host=tuple(host.tolist()),
        absorbed=absorbed,
        leaves=leaves,
        keys=tuple(keys.tolist()),
        uses=uses,
        copies=copies,
    )


def _hosts(graph: Graph, keys: Integers, toggles: FoldToggles) -> Integers:
    """Whose box shows each node; -1 for leaves that something uses."""
    first, last = _consumers(graph)
    may_fold = first >= 0
    may_fold[[root.node for root in graph.roots if root.node is not None]] = False
    leaf = leaves_of(graph)
    folds = graph.node_columns.name.are(lambda name: _folds(name, toggles)) & (first == last)
    host = np.arange(len(graph.nodes))
    host[may_fold & leaf] = -1
    folded = np.flatnonzero(may_fold & ~leaf & folds)
    for index in folded[np.argsort(-keys[folded])].tolist():
        host[index] = host[first[index]]
    return host


def _folds(name: str, toggles: FoldToggles) -> bool:
    name = stem(name)
    return (
        (toggles.transposes and name in TRANSPOSES)
        or (toggles.views and name in RESHAPES)
        or (toggles.copies and name in COPIES)
    )


def _consumers(graph: Graph) -> tuple[Integers, Integers]:
    """The smallest and the largest number of a node that uses each node's output; -1 where none does."""
    count, used = len(graph.nodes), graph.edge_targets >= 0
    sources, targets = graph.edge_sources[used], graph.edge_targets[used]
    first, last = np.full(count, count), np.full(count, -1)
    np.minimum.at(first, targets, sources)
    np.maximum.at(last, targets, sources)
    return np.where(last < 0, -1, first), last


def _absorbed(keys: Integers, host: Integers) -> dict[int, tuple[int, ...]]:
    """The nodes in the label of every box that has some, in forward order."""
    found: dict[int, list[int]] = {}
    inside = np.flatnonzero((host != np.arange(host.size)) & (host >= 0))
    inside = inside[np.argsort(keys[inside])]
    for index, box in zip(inside.tolist(), host[inside].tolist(), strict=True):
        found.setdefault(box, []).append(index)
    return {box: tuple(members) for box, members in found.items()}


def _edges_to_leaves(graph: Graph, host: Integers) -> Integers:
    targets = graph.edge_targets
    return np.flatnonzero((targets >= 0) & (host[targets] == -1))


def _leaf_uses(graph: Graph, host: Integers, kinds: Mapping[str, str]) -> dict[int, tuple[LeafUse, ...]]:
    """The leaf markers of every box that has some."""
    edges = _edges_to_leaves(graph, host)
    sources, variables, names = graph.edge_sources[edges], graph.node_variables, graph.node_names
    columns = sources, host[sources], graph.edge_output_nrs[edges], graph.edge_targets[edges]
    entries = _entries(graph, host)
    found: dict[int, list[LeafUse]] = {}
    for source, box, slot, leaf in zip(*(column.tolist() for column in columns), strict=True):
        variable = variables[leaf]
        through, slots = ((), (slot,)) if box == source else ((operation_name(names[source]),), entries[source])
        kind = kinds.get(variable) or _kind_by_name(variable)
        found.setdefault(box, []).append(LeafUse(leaf, variable or UNNAMED, kind, through, slots))
    return {box: tuple(sorted(uses, key=lambda use: use.slots)) for box, uses in found.items()}


def _leaf_boxes(graph: Graph, host: Integers) -> tuple[dict[int, int], dict[int, int], dict[int, list[int]]]:
    """Leaves as boxes, one per use: `uses`, `copies`, and the boxes that come right before each node's own."""
    uses: dict[int, int] = {}
    copies: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    edges = _edges_to_leaves(graph, host)
    columns = edges, host[graph.edge_sources[edges]], graph.edge_targets[edges]
    for number, user, leaf in zip(*(column.tolist() for column in columns), strict=True):
        box = uses[number] = host.size + len(copies)
        copies[box] = leaf
        before.setdefault(user, []).append(box)
    return uses, copies, before


def _boxes(keys: Integers, host: Integers, before: dict[int, list[int]]) -> tuple[int, ...]:
    """The boxes in forward order."""
    own = np.flatnonzero(host == np.arange(host.size))
    order: list[int] = own[np.argsort(keys[own])].tolist()
    return tuple(box for node in order for box in (*before.get(node, ()), node)) if before else tuple(order)


def _entries(graph: Graph, host: Integers) -> dict[int, tuple[int, ...]]:
    """The slots of its box that every absorbed node feeds, through other absorbed nodes or directly."""
    targets = graph.edge_targets
    edges = np.flatnonzero((targets >= 0) & (host[targets] != targets) & (host[targets] >= 0))
    columns = targets[edges], graph.edge_sources[edges], graph.edge_output_nrs[edges]
    inward: dict[int, list[tuple[int, int]]] = {}
    for target, source, slot in zip(*(column.tolist() for column in columns), strict=True):
        inward.setdefault(target, []).append((source, slot))
    found = {}
    for index, links in inward.items():
        box = host.item(index)
        while links[0][0] != box:
            links = inward[links[0][0]]
        found[index] = tuple(sorted(slot for _, slot in links))
    return found


def leaf_name(node: Node) -> str:
    """The leaf's own name, or "unnamed leaf"."""
    return node.variable or UNNAMED


def leaf_kind(node: Node, kinds: Mapping[str, str]) -> str:
    """Owner kind of a leaf: what the caller knows, else what the node's saved or named facts say."""
    return kinds.get(node.variable) or box_kind(node)
