"""Edges between visible boxes: bundled per pair, with what each carries in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.figures.fold import Folded, operation_name
from engine.figures.hierarchy import Item
from engine.figures.slots import listed
from engine.figures.units import format_shape
from engine.graph.spec import Edge, Graph

LISTED = 6
"""Edges of one bundle that are spelled out."""


class Bundle(msgspec.Struct, frozen=True):
    """All edges from one visible box to another, in forward direction."""

    source: Item
    target: Item
    edges: tuple[Edge, ...]


class Wired(msgspec.Struct, frozen=True):
    """Bundles between visible boxes; `entering` and `leaving` count edges whose other end is in no visible box."""

    bundles: list[Bundle]
    entering: int
    leaving: int


def bundle_wires(graph: Graph, folded: Folded, visible: Sequence[Item]) -> Wired:
    """Group the graph's edges by the boxes that show their ends; edges inside one box are dropped."""
    shown = {}
    for item in visible:
        for box in folded.order[item.first : item.last]:
            shown[box] = item
    found: dict[tuple[str, str], tuple[Item, Item, list[Edge]]] = {}
    entering = leaving = 0
    for number, edge in enumerate(graph.edges):
        if edge.target is None:
            continue
        producer = folded.uses.get(number, folded.host[edge.target])
        if producer == -1:
            continue
        source, target = shown.get(producer), shown.get(folded.host[edge.source])
        if source is None or target is None:
            entering += target is not None
            leaving += source is not None
        elif source is not target:
            found.setdefault((source.address, target.address), (source, target, []))[2].append(edge)
    bundles = [Bundle(source, target, tuple(edges)) for source, target, edges in found.values()]
    return Wired(bundles, entering, leaving)


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
