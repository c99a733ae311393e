"""Edges between visible boxes: bundled per pair, with what each carries in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.figures.fold import operation_name
from engine.figures.hierarchy import Item
from engine.figures.members import Members
from engine.figures.slots import listed
from engine.figures.units import format_shape
from engine.graph.columns import Integers
from engine.graph.spec import Edge, Graph

LISTED = 6
"""Edges of one bundle that are spelled out."""


class Bundle(msgspec.Struct, frozen=True):
    """All edges from one visible box to another, in forward direction; `gone` when they are of run A only."""

    source: Item
    target: Item
    edges: tuple[Edge, ...]
    gone: bool = False


class Wired(msgspec.Struct, frozen=True):
    """Bundles between visible boxes; `entering` and `leaving` count edges whose other end is in no visible box."""

    bundles: list[Bundle]
    entering: int
    leaving: int


def bundle_wires(members: Members, visible: Sequence[Item], real: int | None = None) -> Wired:
    """Group the graph's edges by the boxes that show their ends; edges inside one box are dropped.

    Edges from number `real` on are of run A only and in bundles of their own. Bundles stand in the order of their first
    edges.
    """
    graph = members.graph
    numbers, producers, consumers = _ends(members)
    shown = np.full(len(members.folded.order) + 1, -1, np.int64)
    for number, item in enumerate(visible):
        shown[item.first : item.last] = number
    sources, targets = shown[producers], shown[consumers]
    drawn = (sources >= 0) & (targets >= 0)
    crossing = np.flatnonzero(drawn & (sources != targets))
    found: dict[tuple[int, int, bool], list[Edge]] = {}
    chosen = numbers[crossing]
    gone = chosen >= (len(graph.edges) if real is None else real)
    columns = (graph.edge_sources, graph.edge_output_nrs, graph.edge_targets, graph.edge_input_nrs)
    edges = map(Edge, *(column[chosen].tolist() for column in columns))
    keys = zip(sources[crossing].tolist(), targets[crossing].tolist(), gone.tolist(), strict=True)
    for key, edge in zip(keys, edges, strict=True):
        found.setdefault(key, []).append(edge)
    bundles = [
        Bundle(visible[source], visible[target], tuple(held), is_gone)
        for (source, target, is_gone), held in found.items()
    ]
    return Wired(bundles, int(((targets >= 0) & ~drawn).sum()), int(((sources >= 0) & ~drawn).sum()))


def _ends(members: Members) -> tuple[Integers, Integers, Integers]:
    """(number, position of the producer's box, position of the consumer's box) of every edge between boxes."""
    graph, uses = members.graph, members.folded.uses
    box = np.where(graph.edge_targets >= 0, members.host[graph.edge_targets], -1)
    if uses:
        box[np.fromiter(uses.keys(), np.int64, len(uses))] = np.fromiter(uses.values(), np.int64, len(uses))
    numbers = np.flatnonzero(box >= 0)
    return numbers, members.place[box[numbers]], members.place[members.host[graph.edge_sources[numbers]]]


def wire_lines(graph: Graph, bundle: Bundle) -> tuple[str, ...]:
    """One line per edge: output number of the producer, slot of the consumer, shape and dtype of what flows."""
    return tuple(_line(graph, edge) for edge in bundle.edges[:LISTED])


def wire_note(bundle: Bundle) -> tuple[str, ...]:
    """How many edges of the bundle are not spelled out."""
    hidden = len(bundle.edges) - LISTED
    return (f"and {hidden} more edges",) if hidden > 0 else ()


def output_numbers(bundle: Bundle) -> str:
    """ "#2" where outputs beyond the producer's first are carried, "#0, 2" for several; "" for a closed group."""
    if bundle.source.children or not any(edge.input_nr for edge in bundle.edges):
        return ""
    own = {edge.input_nr for edge in bundle.edges if edge.target == bundle.source.node}
    return f"#{listed(sorted(own))}" if any(own) else ""


def _line(graph: Graph, edge: Edge) -> str:
    assert edge.target is not None
    producer, consumer = graph.nodes[edge.target], graph.nodes[edge.source]
    carried = ""
    if edge.input_nr < len(producer.inputs):
        metadata = producer.inputs[edge.input_nr]
        carried = f"   {format_shape(metadata.shape)} {metadata.dtype.removeprefix('torch.')}"
    start = f"{operation_name(producer.name)} output {edge.input_nr}"
    return f"{start} → {operation_name(consumer.name)} input {edge.output_nr}{carried}"
