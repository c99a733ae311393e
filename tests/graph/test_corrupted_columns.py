"""A graph's columns are refused, in words, when they are corrupted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.graph.columns import Coded, column
from engine.graph.spec import Edge, Graph, Node, Root, Saved, Source
from engine.runner.contract import Array

SLOT = Saved("self", (2,), "f", (1,), "cpu", 8, 8, 0, "x", "input", 0, 0, False)
GRAPH = Graph.of(
    [
        Node(0, "AddBackward0", "operation", 7, (), (), (SLOT,), "m", None),
        Node(1, "T", "leaf", None, (), (), (), "", Source("f.py", 1, "f", "y = x"), (), "w"),
    ],
    [Edge(0, 0, 1, 0), Edge(0, 1, None, 0)],
    [Root("loss", 0, 0, (), "float32")],
)

PARTS = ("node_columns", "slot_columns", "edge_columns")
COLUMNS = [(part, name) for part in PARTS for name in getattr(GRAPH, part).__struct_fields__ if name != "owners"]


def broken(part: str, name: str, change: Any) -> dict[str, Any]:
    """The fields of GRAPH with one column's codes changed."""
    columns = getattr(GRAPH, part)
    old = getattr(columns, name)
    new = Coded(old.table, change(old.codes)) if isinstance(old, Coded) else change(old)
    fields = {field: getattr(GRAPH, field) for field in GRAPH.__struct_fields__}
    return fields | {part: msgspec.structs.replace(columns, **{name: new})}


CORRUPTIONS = {
    "one row too many": lambda codes: Array(codes.dtype, (codes.shape[0] + 1,), codes.data + bytes(1)),
    "one byte too few": lambda codes: Array(codes.dtype, codes.shape, codes.data[:-1]),
    "another shape": lambda codes: Array(codes.dtype, (*codes.shape, 1), codes.data),
    "signed": lambda codes: Array("int8", codes.shape, codes.data),
    "no such dtype": lambda codes: Array("object", codes.shape, codes.data),
    "too large": lambda codes: Array("uint64", codes.shape, b"\xff" * 8 * codes.shape[0]),
}


@pytest.mark.parametrize("change", CORRUPTIONS.values(), ids=CORRUPTIONS)
@pytest.mark.parametrize(("part", "name"), COLUMNS, ids=lambda value: str(value))
def test_a_corrupted_column_is_refused_in_words(part, name, change):
    fields = broken(part, name, change)
    with pytest.raises(ValueError, match="do not fit together") as caught:
        Graph(**fields)
    assert name in str(caught.value) or "rows where" in str(caught.value)
    wire = msgspec.msgpack.encode(fields)
    with pytest.raises(msgspec.ValidationError, match="do not fit together"):
        msgspec.msgpack.decode(wire, type=Graph)


POINTERS = [(part, name) for part, name in COLUMNS if isinstance(getattr(getattr(GRAPH, part), name), Coded)]
POINTERS += [("slot_columns", "owner"), ("edge_columns", "source"), ("edge_columns", "target")]


@pytest.mark.parametrize(("part", "name"), POINTERS)
def test_a_code_out_of_range_is_refused_in_words(part, name):
    with pytest.raises(ValueError, match=f"{name} points at place 200"):
        Graph(**broken(part, name, lambda codes: column([200] * codes.shape[0])))


def test_a_root_that_points_nowhere_is_refused():
    with pytest.raises(ValueError, match="root 'loss' points at node 2 of 2"):
        msgspec.structs.replace(GRAPH, roots=(Root("loss", 2, 0, (), "float32"),))
