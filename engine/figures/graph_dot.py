"""A graph as DOT, data flowing as in the forward. Whatever a name holds is shown as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.figures.fold import addresses, box_kind, forward_order, is_leaf, leaf_name
from engine.figures.palette import MUTED, meaning
from engine.figures.slots import empty_slots
from engine.figures.units import format_shape, shorten
from engine.graph.spec import Edge, Graph, Node, TensorMetadata

LINE_LETTERS = 200
LINES = 12
PLAIN = re.compile(r"[\w./×→,:()# -]*")
# dot drops or misreads control characters, and lone surrogates have no place in UTF-8.
UNDRAWABLE = {c: " " for c in (*range(32), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF) if c != 10}


def graph_dot(graph: Graph, *, clusters: bool = False) -> str:
    """The whole graph: node ids are node numbers, edges say which output goes into which slot, and its shape.

    With `clusters` every module is a box around its nodes. Empty slots are named at their node.
    """
    lines = [
        "digraph autograd {",
        '  node [shape=box, style="rounded", fontname="sans-serif"];',
        f'  edge [fontname="sans-serif", fontsize=10, fontcolor="{MUTED["light"]}"];',
    ]
    names, empty = addresses(graph, forward_order(graph)), empty_slots(graph)
    boxes = [_node(node, names[node.id], empty.get(node.id, ())) for node in graph.nodes]
    lines += _by_module(graph, boxes) if clusters else (f"  {box}" for box in boxes)
    outputs = [node.inputs for node in graph.nodes]
    lines += (f"  {_edge(edge, outputs[edge.target])}" for edge in graph.edges if edge.target is not None)
    return "\n".join([*lines, "}", ""])


def dot_quoted(text: str) -> str:
    """A DOT string that shows `text` literally: at most 12 lines of 200 characters, their middle cut."""
    if len(text) <= LINE_LETTERS and PLAIN.fullmatch(text):
        return f'"{text}"'
    lines = text.strip().replace("\r", "\n").split("\n")
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], f"… {len(lines) - LINES + 1} more lines"]
    kept = "\n".join(shorten(line.translate(UNDRAWABLE), LINE_LETTERS) for line in lines)
    kept = kept.encode("utf-8", "replace").decode()
    # dot reads entities inside of quotes, too.
    kept = re.sub(r"&(?=#?\w+;)", "&amp;", kept)
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _node(node: Node, address: str, empty: tuple[int, ...]) -> str:
    label = f"{leaf_name(node)}\n{node.name}" if is_leaf(node) else f"{node.name}\n{node.module}"
    if empty:
        label += f"\nempty: {', '.join(map(str, empty))}"
    colour = meaning(box_kind(node)).light
    return f'n{node.id} [label={dot_quoted(label)}, tooltip={dot_quoted(address)}, color="{colour}"];'


def _edge(edge: Edge, outputs: tuple[TensorMetadata, ...]) -> str:
    """`output 1 → input 2` in the words of the forward: the producer's output, the consumer's slot."""
    carried = f"output {edge.input_nr} → input {edge.output_nr}"
    if edge.input_nr < len(outputs):
        carried = f"{format_shape(outputs[edge.input_nr].shape)}\n{carried}"
    return f"n{edge.target} -> n{edge.source} [label={dot_quoted(carried)}];"


def _by_module(graph: Graph, boxes: list[str]) -> Iterator[str]:
    """Nested subgraphs along the module paths; a module is one cluster however often it is called."""
    inside: dict[str, list[str]] = {"": []}
    below: dict[str, list[str]] = {"": []}
    for node, box in zip(graph.nodes, boxes, strict=True):
        parts = node.module.split(".") if node.module else []
        for depth in range(len(parts)):
            above, path = ".".join(parts[:depth]), ".".join(parts[: depth + 1])
            if path not in inside:
                inside[path], below[path] = [], []
                below[above].append(path)
        inside[node.module].append(box)
    numbers = {path: number for number, path in enumerate(inside)}
    waiting: list[tuple[str, bool]] = [("", False)]
    while waiting:
        path, done = waiting.pop()
        if done:
            yield "  }"
            continue
        if path:
            yield f"  subgraph cluster_{numbers[path]} {{"
            yield f'    label={dot_quoted(path)}; style=rounded; fontname="sans-serif"; color="{MUTED["light"]}";'
            waiting.append((path, True))
        yield from (f"    {box}" for box in inside[path])
        waiting += ((child, False) for child in reversed(below[path]))
