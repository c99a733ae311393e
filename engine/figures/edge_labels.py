"""What stands along a wire: the shape that flows through it."""

from __future__ import annotations

from engine.figures.units import format_shape, shorten
from engine.figures.wires import Bundle
from engine.graph.spec import Edge, Graph

LONGEST = 24
"""Letters of a shape that is spelled out along a wire."""


def shape_label(graph: Graph, bundle: Bundle) -> str:
    """The shape that all edges of the bundle carry; "" where they differ or none is known."""
    shapes = {_shape(graph, edge) for edge in bundle.edges}
    return shapes.pop() if len(shapes) == 1 else ""


def _shape(graph: Graph, edge: Edge) -> str:
    assert edge.target is not None
    outputs = graph.nodes[edge.target].inputs
    return shorten(format_shape(outputs[edge.input_nr].shape), LONGEST) if edge.input_nr < len(outputs) else ""
