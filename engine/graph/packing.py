"""Rows of a graph -> its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from engine.graph.columns import EdgeColumns, Layout, NodeColumns, SlotColumns, SlotKind, coded, column, optional_column
from engine.graph.rows import Edge, Node, Saved

_MAKER = re.compile(r"(.*) #(0|[1-9]\d{0,17})", re.DOTALL)


def pack_nodes(nodes: Sequence[Node]) -> NodeColumns:
    """Columns of the nodes; their ids have to be 0, 1, 2, ..."""
    for place, node in enumerate(nodes):
        if node.id != place:
            raise ValueError(f"A node's id is its place in the graph, {place}; received {node.id}. Number them anew.")
    return NodeColumns(
        name=coded([node.name for node in nodes]),
        kind=coded([node.kind for node in nodes]),
        sequence_nr=optional_column([node.sequence_nr for node in nodes]),
        attributes=coded([node.attributes for node in nodes]),
        inputs=coded([node.inputs for node in nodes]),
        saved=column([len(node.saved) for node in nodes]),
        module=coded([node.module for node in nodes]),
        source=coded([node.source for node in nodes]),
        hooks=coded([node.hooks for node in nodes]),
        variable=coded([node.variable for node in nodes]),
    )


def pack_slots(nodes: Sequence[Node]) -> SlotColumns:
    """Columns of everything the nodes saved."""
    slots = list(chain.from_iterable(node.saved for node in nodes))
    named: dict[str, int] = {}
    makers = [_maker(slot, nodes) for slot in slots]
    places = [
        named.setdefault(slot.owner, len(named)) if maker is None else maker
        for slot, maker in zip(slots, makers, strict=True)
    ]
    owners = [place if maker is None else place + len(named) for place, maker in zip(places, makers, strict=True)]
    return SlotColumns(
        kind=coded([SlotKind(slot.name, slot.owner_kind, slot.dropped, slot.unavailable) for slot in slots]),
        layout=coded([Layout(slot.shape, slot.dtype, slot.stride, slot.device, slot.bytes) for slot in slots]),
        storage_bytes=column([slot.storage_bytes for slot in slots]),
        storage_id=optional_column([slot.storage_id for slot in slots]),
        owner=column(owners),
        owners=tuple(named),
        version_saved=optional_column([slot.version_saved for slot in slots]),
        version_now=optional_column([slot.version_now for slot in slots]),
    )


def _maker(slot: Saved, nodes: Sequence[Node]) -> int | None:
    """The number in "AddmmBackward0 #17", when that node is called so."""
    found = _MAKER.fullmatch(slot.owner) if slot.owner_kind == "intermediate" else None
    number = int(found[2]) if found else len(nodes)
    return number if found and number < len(nodes) and nodes[number].name == found[1] else None


def pack_edges(edges: Sequence[Edge]) -> EdgeColumns:
    """Columns of the edges, in their order."""
    return EdgeColumns(
        source=column([edge.source for edge in edges]),
        output_nr=column([edge.output_nr for edge in edges]),
        target=optional_column([edge.target for edge in edges]),
        input_nr=column([edge.input_nr for edge in edges]),
    )
