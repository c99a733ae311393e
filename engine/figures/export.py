"""Files made of a graph: JSON and CSV, and its totals. DOT is in graph_dot, pictures are in svg."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from engine.figures import schema
from engine.figures.csv_text import csv_text
from engine.figures.fold import addresses, forward_order
from engine.figures.graph_dot import dot_quoted, graph_dot
from engine.figures.svg import scene_svg
from engine.figures.units import format_bytes
from engine.graph.spec import Edge, Graph, Leaf, ModuleCall, Node, TensorMetadata

__all__ = ["dot_quoted", "edges_csv", "graph_dot", "graph_json", "nodes_csv", "scene_svg", "totals"]

NODE_COLUMNS = (
    "id",
    "address",
    "name",
    "kind",
    "module",
    "variable",
    "sequence_nr",
    "output_shapes",
    "output_dtypes",
    "saved_bytes",
    "saved_slots",
    "dropped_slots",
    "source",
)
COLUMNS = NODE_COLUMNS
EDGE_COLUMNS = (
    "source",
    "source_address",
    "output_nr",
    "target",
    "target_address",
    "input_nr",
    "shape",
    "dtype",
)
GUARDED = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\n]")
"""What a spreadsheet takes for the beginning of a formula, also after blanks."""
UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""What ends a cell or a line for some readers, or has no place in UTF-8."""


def graph_json(graph: Graph, leaves: Sequence[Leaf] = (), modules: Sequence[ModuleCall] = ()) -> bytes:
    """The graph as JSON by docs/graph.schema.json: one line per node, edge, leaf and module."""
    return b"".join(_json_parts(graph, leaves, modules))


def _json_parts(graph: Graph, leaves: Sequence[Leaf], modules: Sequence[ModuleCall]) -> Iterator[bytes]:
    rows: dict[str, Iterator[Any]] = {
        "roots": (msgspec.convert(root, schema.Root, from_attributes=True) for root in graph.roots),
        "leaves": (msgspec.convert(leaf, schema.Leaf, from_attributes=True) for leaf in leaves),
        "modules": (msgspec.convert(module, schema.Module, from_attributes=True) for module in modules),
        "nodes": _nodes(graph),
        "edges": (msgspec.convert(edge, schema.Edge, from_attributes=True) for edge in graph.edges),
    }
    separator = b"{\n"
    for name in schema.GraphFile.__struct_fields__:
        yield separator + _json(name) + b": "
        separator = b",\n"
        if name not in rows:
            yield _json({"format": schema.FORMAT, "version": schema.VERSION}.get(name) or getattr(graph, name))
            continue
        before = b"[\n"
        for row in rows[name]:
            yield before + _json(row)
            before = b",\n"
        yield b"[]" if before == b"[\n" else b"\n]"
    yield b"\n}\n"


def _nodes(graph: Graph) -> Iterator[schema.Node]:
    for node, address in zip(graph.nodes, addresses(graph, forward_order(graph)), strict=True):
        row = msgspec.convert(node, schema.Node, from_attributes=True)
        row.address = address
        yield row


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a surrogate pair in a name: only an escape can hold it
        return json.dumps(msgspec.to_builtins(value)).encode()


def nodes_csv(graph: Graph) -> str:
    """One row per node in forward order; shapes as Python writes tuples, bytes exact."""
    keys = forward_order(graph)
    names = addresses(graph, keys)
    rows = [_node_row(node, name) for node, name in zip(graph.nodes, names, strict=True)]
    return csv_text(NODE_COLUMNS, _cells(rows[index] for index in sorted(range(len(rows)), key=keys.__getitem__)))


def edges_csv(graph: Graph) -> str:
    """One row per edge, from the node a gradient leaves to the one it reaches; target empty where there is none."""
    names = addresses(graph, forward_order(graph))
    outputs = [node.inputs for node in graph.nodes]
    return csv_text(EDGE_COLUMNS, _cells(_edge_row(edge, names, outputs) for edge in graph.edges))


def _cells(rows: Iterator[Sequence[object]]) -> Iterator[Iterator[object]]:
    return (map(cell, row) for row in rows)


def cell(value: object) -> object:
    """Text that no spreadsheet runs and every reader takes for one cell; an apostrophe stands before a formula."""
    if not isinstance(value, str):
        return value
    text = UNREADABLE.sub(_pictured, value)
    return f"'{text}" if GUARDED.match(text) else text


def _pictured(found: re.Match[str]) -> str:
    """The picture of a control character ("␀"), or the replacement character."""
    code = ord(found.group())
    return "\u2421" if code == 0x7F else chr(0x2400 + code) if code < 32 else "\ufffd"


def _node_row(node: Node, address: str) -> tuple[object, ...]:
    readable = [slot for slot in node.saved if not slot.dropped and not slot.unavailable]
    return (
        node.id,
        address,
        node.name,
        node.kind,
        node.module,
        node.variable,
        node.sequence_nr,
        "; ".join(_shape(metadata.shape) for metadata in node.inputs),
        "; ".join(metadata.dtype for metadata in node.inputs),
        sum(slot.bytes for slot in readable),
        len(node.saved),
        sum(slot.dropped for slot in node.saved),
        f"{node.source.file}:{node.source.line}" if node.source else "",
    )


def _edge_row(edge: Edge, names: Sequence[str], outputs: Sequence[tuple[TensorMetadata, ...]]) -> tuple[object, ...]:
    start = (edge.source, names[edge.source], edge.output_nr)
    if edge.target is None:
        return (*start, "", "", "", "", "")
    known = outputs[edge.target]
    carried = known[edge.input_nr] if edge.input_nr < len(known) else None
    shape, dtype = (_shape(carried.shape), carried.dtype) if carried else ("", "")
    return (*start, edge.target, names[edge.target], edge.input_nr, shape, dtype)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "symbolic" if shape is None else str(tuple(shape))


def totals(graph: Graph) -> tuple[tuple[str, str], ...]:
    """The key numbers of a graph in words."""
    return (
        ("nodes", str(len(graph.nodes))),
        ("edges", str(np.count_nonzero(graph.edge_targets >= 0))),
        ("empty slots", str(np.count_nonzero(graph.edge_targets < 0))),
        ("saved for backward", format_bytes(graph.saved_bytes)),
        ("of it parameters", format_bytes(graph.parameter_bytes)),
        ("of it inputs", format_bytes(graph.input_bytes)),
        ("of it buffers", format_bytes(graph.buffer_bytes)),
        ("of it intermediates", format_bytes(graph.intermediate_bytes)),
        ("slots dropped by checkpoint", str(graph.dropped_slots)),
    )
