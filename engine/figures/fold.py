"""Which autograd nodes get a box of their own, and which become part of a neighbour's label.

All in forward order: a node's *consumer* is the node that used its output in the forward (`Edge.source`).
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from engine.graph.spec import Graph, Node

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


def is_leaf(node: Node) -> bool:
    """Whether `node` only accumulates into a leaf's `.grad`."""
    return node.kind == "leaf" or "AccumulateGrad" in node.name


def box_kind(node: Node) -> str:
    """The palette's word for `node`."""
    if is_leaf(node):
        return "parameter" if "." in node.variable or node.variable.startswith("weight") else "input"
    if stem(node.name) in COPIES:
        return "copy"
    return "view" if node.kind == "operation" and stem(node.name) in TRANSPOSES | RESHAPES else node.kind


def fold(graph: Graph, toggles: FoldToggles | None = None, kinds: Mapping[str, str] | None = None) -> Folded:
    """Decide every node's box; `kinds` maps leaf names to owner kinds. Linear in nodes and edges."""
    toggles = toggles or FoldToggles()
    keys = forward_order(graph)
    consumers = _consumers(graph)
    pinned = {root.node for root in graph.roots if root.node is not None}
    order = sorted(range(len(graph.nodes)), key=keys.__getitem__)
    host = list(range(len(graph.nodes)))
    for index in reversed(order):
        node = graph.nodes[index]
        if index in pinned or not consumers[index]:
            continue
        if is_leaf(node):
            host[index] = -1
        elif len(consumers[index]) == 1 and _folds(node, toggles):
            host[index] = host[consumers[index][0]]
    return _gather(graph, keys, order, host, toggles.leaves, kinds or {})


def _folds(node: Node, toggles: FoldToggles) -> bool:
    name = stem(node.name)
    return (
        (toggles.transposes and name in TRANSPOSES)
        or (toggles.views and name in RESHAPES)
        or (toggles.copies and name in COPIES)
    )


def _consumers(graph: Graph) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in graph.nodes]
    for edge in graph.edges:
        if edge.target is not None and edge.source not in found[edge.target][-1:]:
            found[edge.target].append(edge.source)
    return found


def _gather(
    graph: Graph, keys: list[int], order: list[int], host: list[int], as_markers: bool, kinds: Mapping[str, str]
) -> Folded:
    absorbed: dict[int, list[int]] = {}
    for index in order:
        if host[index] not in (index, -1):
            absorbed.setdefault(host[index], []).append(index)
    leaves: dict[int, list[LeafUse]] = {}
    uses: dict[int, int] = {}
    copies: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    entries = _entries(graph, host)
    for number, edge in enumerate(graph.edges):
        if edge.target is None or host[edge.target] != -1:
            continue
        leaf, box = graph.nodes[edge.target], host[edge.source]
        if as_markers:
            through = () if box == edge.source else (operation_name(graph.nodes[edge.source].name),)
            slots = (edge.output_nr,) if box == edge.source else entries[edge.source]
            use = LeafUse(leaf.id, leaf_name(leaf), leaf_kind(leaf, kinds), through, slots)
            leaves.setdefault(box, []).append(use)
        else:
            uses[number] = len(graph.nodes) + len(copies)
            copies[uses[number]] = leaf.id
            before.setdefault(box, []).append(uses[number])
    return Folded(
        order=tuple(box for i in order if host[i] == i for box in (*before.get(i, ()), i)),
        host=tuple(host),
        absorbed={index: tuple(found) for index, found in absorbed.items()},
        leaves={index: tuple(sorted(found, key=lambda use: use.slots)) for index, found in leaves.items()},
        keys=tuple(keys),
        uses=uses,
        copies=copies,
    )


def _entries(graph: Graph, host: list[int]) -> dict[int, tuple[int, ...]]:
    """The slots of its box that every absorbed node feeds, through other absorbed nodes or directly."""
    inward: dict[int, list[tuple[int, int]]] = {}
    for edge in graph.edges:
        if edge.target is not None and host[edge.target] not in (edge.target, -1):
            inward.setdefault(edge.target, []).append((edge.source, edge.output_nr))
    found = {}
    for index, links in inward.items():
        while links[0][0] != host[index]:
            links = inward[links[0][0]]
        found[index] = tuple(sorted(slot for _, slot in links))
    return found


def leaf_name(node: Node) -> str:
    """The leaf's own name, or "unnamed leaf"."""
    return node.variable or "unnamed leaf"


def leaf_kind(node: Node, kinds: Mapping[str, str]) -> str:
    """Owner kind of a leaf: what the caller knows, else what the node's saved or named facts say."""
    return kinds.get(node.variable) or box_kind(node)


def forward_order(graph: Graph) -> list[int]:
    """Position of every node in a linear extension of the forward, following sequence numbers where it may.

    Nodes without a number (leaves) come right before their first consumer. Needs an acyclic graph; nodes on a cycle
    raise ValueError.
    """
    count = len(graph.nodes)
    wanted = _wanted(graph)
    pending, successors = [0] * count, [[] for _ in range(count)]  # type: tuple[list[int], list[list[int]]]
    for edge in graph.edges:
        if edge.target is not None:
            pending[edge.source] += 1
            successors[edge.target].append(edge.source)
    ready = [(wanted[index], index) for index in range(count) if not pending[index]]
    heapq.heapify(ready)
    keys = [-1] * count
    for position in range(count):
        if not ready:
            raise ValueError(f"An autograd graph has no cycles; {count - position} nodes are on one. Trace it again.")
        _, index = heapq.heappop(ready)
        keys[index] = position
        for successor in successors[index]:
            pending[successor] -= 1
            if not pending[successor]:
                heapq.heappush(ready, (wanted[successor], successor))
    return keys


def _wanted(graph: Graph) -> list[tuple[float, int]]:
    """What to sort by: sequence number; a leaf waits until its first consumer is next."""
    known = [float(node.sequence_nr) if _numbered(node) else None for node in graph.nodes]  # type: ignore[arg-type]
    first: dict[int, float] = {}
    for edge in graph.edges:
        sequence = known[edge.source]
        if edge.target is not None and known[edge.target] is None and sequence is not None:
            first[edge.target] = min(first.get(edge.target, sequence), sequence)
    return [(value, 1) if value is not None else (first.get(i, -1.0), 0) for i, value in enumerate(known)]


def _numbered(node: Node) -> bool:
    return node.sequence_nr is not None and node.sequence_nr < 1 << 62 and not is_leaf(node)


def addresses(graph: Graph, keys: tuple[int, ...] | list[int]) -> list[str]:
    """A stable name per node: "module/AddmmBackward0#0", "weight/AccumulateGrad#0"; counts run in forward order."""
    counts: Counter[str] = Counter()
    found = [""] * len(graph.nodes)
    for index in sorted(range(len(graph.nodes)), key=keys.__getitem__):
        node = graph.nodes[index]
        name = f"{node.variable if is_leaf(node) else node.module}/{node.name.replace('torch::autograd::', '')}"
        found[index] = f"{name}#{counts[name]}"
        counts[name] += 1
    return found
