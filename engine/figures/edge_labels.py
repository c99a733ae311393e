"""What stands along a wire: the shape that flows through it, and its dtype where that is not the usual one."""

from __future__ import annotations

from collections import Counter

from engine.figures.units import format_shape, shorten
from engine.figures.wires import Bundle
from engine.graph.columns import integers
from engine.graph.spec import Edge, Graph

LONGEST = 24
"""Letters of a shape that is spelled out along a wire."""


def usual_dtype(graph: Graph) -> str:
    """The dtype that most outputs of the graph's nodes have; "" where none is known."""
    received = graph.node_columns.inputs
    times = Counter(integers(received.codes).tolist())
    found: Counter[str] = Counter()
    for code, outputs in enumerate(received.table):
        for metadata in outputs:
            found[metadata.dtype] += times[code]
    return found.most_common(1)[0][0] if found else ""


def wire_label(graph: Graph, bundle: Bundle, usual: str) -> str:
    """The shape that all edges of the bundle carry, with their dtype unless it is the `usual` one.

    "" where the edges differ or nothing is known.
    """
    found = {_carried(graph, edge, usual) for edge in bundle.edges}
    return found.pop() if len(found) == 1 else ""


def _carried(graph: Graph, edge: Edge, usual: str) -> str:
    assert edge.target is not None
    outputs = graph.nodes[edge.target].inputs
    if edge.input_nr >= len(outputs):
        return ""
    metadata = outputs[edge.input_nr]
    shape = shorten(format_shape(metadata.shape), LONGEST)
    return shape if metadata.dtype == usual else f"{shape} {metadata.dtype.removeprefix('torch.')}"
