"""Files made of a graph or its picture: SVG, DOT, JSON, CSV. Every name is escaped; nothing refers to the network."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from engine.figures.fold import addresses, box_kind, forward_order, is_leaf, leaf_name
from engine.figures.palette import meaning
from engine.figures.svg import UNPRINTABLE, scene_svg
from engine.figures.units import format_bytes, format_shape, shorten
from engine.graph.spec import Graph, Node

__all__ = ["graph_dot", "graph_json", "nodes_csv", "scene_svg", "totals"]


def graph_dot(graph: Graph) -> str:
    """The whole graph as DOT, data flowing as in the forward; ids are node numbers, labels escaped."""
    lines = ["digraph autograd {", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    for node in graph.nodes:
        label = f"{leaf_name(node)}\n{node.name}" if is_leaf(node) else f"{node.name}\n{node.module}"
        colour = meaning(box_kind(node)).light
        lines.append(f'  n{node.id} [label={dot_quoted(label)}, color="{colour}"];')
    for edge in graph.edges:
        if edge.target is not None:
            carried = f"{edge.input_nr} → {edge.output_nr}"
            lines.append(f"  n{edge.target} -> n{edge.source} [label={dot_quoted(carried)}];")
    return "\n".join([*lines, "}", ""])


def dot_quoted(text: str) -> str:
    """A DOT string: backslashes and quotes escaped, line breaks as \\n, at most 200 characters a line."""
    kept = "\n".join(shorten(line.translate(UNPRINTABLE), 200) for line in text.strip().split("\n"))
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def graph_json(graph: Graph) -> bytes:
    """The graph as indented JSON with named fields and the address of every node."""
    names = addresses(graph, forward_order(graph))
    content = _named(graph)
    for node, address in zip(content["nodes"], names, strict=True):
        node["address"] = address
    return msgspec.json.format(msgspec.json.encode(content), indent=2)


def _named(value: Any) -> Any:
    """Structs as dictionaries, also those packed as arrays on the wire."""
    if isinstance(value, msgspec.Struct):
        return {name: _named(getattr(value, name)) for name in value.__struct_fields__}
    return [_named(item) for item in value] if isinstance(value, tuple) else value


COLUMNS = (
    "address",
    "name",
    "kind",
    "module",
    "variable",
    "sequence_nr",
    "output_shapes",
    "saved_bytes",
    "saved_slots",
    "dropped_slots",
    "source",
)


def nodes_csv(graph: Graph) -> str:
    """One row per node in forward order. Cells that a spreadsheet would run as a formula get a leading apostrophe."""
    keys = forward_order(graph)
    names = addresses(graph, keys)
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for index in sorted(range(len(graph.nodes)), key=keys.__getitem__):
        writer.writerow([_cell(value) for value in _row(graph.nodes[index], names[index])])
    return sink.getvalue()


def _row(node: Node, address: str) -> tuple[object, ...]:
    readable = [slot for slot in node.saved if not slot.dropped and not slot.unavailable]
    return (
        address,
        node.name,
        node.kind,
        node.module,
        node.variable,
        node.sequence_nr,
        "; ".join(format_shape(metadata.shape) for metadata in node.inputs),
        sum(slot.bytes for slot in readable),
        len(node.saved),
        sum(slot.dropped for slot in node.saved),
        f"{node.source.file}:{node.source.line}" if node.source else "",
    )


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def totals(graph: Graph) -> tuple[tuple[str, str], ...]:
    """The key numbers of a graph in words."""
    return (
        ("nodes", str(len(graph.nodes))),
        ("edges", str(sum(edge.target is not None for edge in graph.edges))),
        ("saved for backward", format_bytes(graph.saved_bytes)),
        ("of it parameters", format_bytes(graph.parameter_bytes)),
        ("of it inputs", format_bytes(graph.input_bytes)),
        ("of it intermediates", format_bytes(graph.intermediate_bytes)),
        ("slots dropped by checkpoint", str(graph.dropped_slots)),
    )
