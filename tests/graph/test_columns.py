"""A graph's columns: they read back as the rows they were made of, and travel unchanged."""

from __future__ import annotations

import sys
from functools import partial
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.graph import record_forward, trace_graph
from engine.graph.columns import coded, column, integers, optional, optional_column, recoded
from engine.graph.spec import Attribute, Edge, Graph, Node, Root, Saved, Source, TensorMetadata
from engine.models.build import build
from engine.models.spec import ModelSpec
from engine.runner.contract import Array
from tests.models.families import NETWORKS, one_of_each_class

BYTES_PER_NODE = 250
"""25 MB for 100,000 nodes."""

WORDS = ("", "self", "weight", "a.b", "\u202e", "\x00", "</script>")
NUMBERS = (0, 1, 2, 255, 256, 2**16, 2**40, 2**62)
MAKERS = ("AddBackward0 #0", "AddBackward0 #00", "AddBackward0 #99", "T #1", "T #2", " #0", "x #-1", "T #3\n")


def random_rows(seed: int) -> tuple[list[Node], list[Edge], list[Root]]:
    """Rows of every kind, sound or absurd, that a graph may hold."""
    dice = Random(seed)
    word, number = partial(dice.choice, WORDS), partial(dice.choice, NUMBERS)
    count = dice.randint(0, 6)

    def missing() -> int | None:
        return dice.choice((None, number()))

    def shape() -> tuple[int, ...] | None:
        return dice.choice((None, (), (number(),), (number(), 3)))

    def saved() -> Saved:
        owner = dice.choice((word(), dice.choice(MAKERS)))
        kind = dice.choice(("parameter", "intermediate", ""))
        tensor = word(), shape(), word(), shape(), "cpu", number(), number(), missing(), owner, kind
        return Saved(*tensor, missing(), missing(), dice.random() < 0.5, word())

    def node(place: int) -> Node:
        name, kind = dice.choice(("AddBackward0", "T", "")), dice.choice(("operation", "leaf", "view"))
        attributes = tuple(Attribute(word(), word(), word()) for _ in range(dice.randint(0, 2)))
        received = tuple(TensorMetadata(shape(), word(), word()) for _ in range(dice.randint(0, 2)))
        slots = tuple(saved() for _ in range(dice.randint(0, 3)))
        source = dice.choice((None, Source(word(), dice.randint(1, 3), word(), word())))
        hooks = tuple(word() for _ in range(dice.randint(0, 2)))
        return Node(place, name, kind, missing(), attributes, received, slots, word(), source, hooks, word())

    def place() -> int:
        return dice.randrange(count)

    edges = [
        Edge(place(), number(), dice.choice((None, place())), number()) for _ in range(count and dice.randint(0, 9))
    ]
    roots = [
        Root(word(), dice.choice((None, place())), 0, shape(), word()) for _ in range(count and dice.randint(0, 2))
    ]
    return [node(one) for one in range(count)], edges, roots


def rows() -> st.SearchStrategy[tuple[list[Node], list[Edge], list[Root]]]:
    return st.builds(random_rows, st.integers(0, 2**32))


@given(rows())
def test_rows_become_columns_and_rows_again(made):
    graph = Graph.of(*made)
    assert (list(graph.nodes), list(graph.edges), list(graph.roots)) == made
    assert [graph.nodes[i] for i in range(len(graph.nodes))] == made[0]
    assert [graph.edges[i - len(made[1])] for i in range(len(made[1]))] == made[1]


@given(rows())
def test_whole_columns_say_what_the_rows_say(made):
    nodes, edges, _ = made
    graph, slots = Graph.of(*made), [slot for node in nodes for slot in node.saved]
    assert graph.node_names == [node.name for node in nodes]
    assert graph.node_kinds == [node.kind for node in nodes]
    assert graph.node_modules == [node.module for node in nodes]
    assert graph.node_variables == [node.variable for node in nodes]
    assert graph.node_received == [node.inputs for node in nodes]
    assert [None if nr < 0 else nr for nr in graph.node_sequence_nrs.tolist()] == [n.sequence_nr for n in nodes]
    assert graph.saved_counts.tolist() == [len(node.saved) for node in nodes]
    targets = [None if target < 0 else target for target in graph.edge_targets.tolist()]
    columns = graph.edge_sources.tolist(), graph.edge_output_nrs.tolist(), targets, graph.edge_input_nrs.tolist()
    assert list(map(Edge, *columns)) == edges
    assert graph.slots.nodes.tolist() == [node.id for node in nodes for _ in node.saved]
    assert graph.slots.names == [slot.name for slot in slots]
    assert graph.slots.owners == [slot.owner for slot in slots]
    assert graph.slots.owner_kinds == [slot.owner_kind for slot in slots]
    assert graph.slots.bytes.tolist() == [slot.bytes for slot in slots]
    assert graph.slots.storage_bytes.tolist() == [slot.storage_bytes for slot in slots]
    assert graph.slots.dropped.tolist() == [slot.dropped for slot in slots]
    ids = [-1 if slot.storage_id is None else slot.storage_id for slot in slots]
    assert graph.slots.storage_ids.tolist() == ids


@given(rows())
def test_modified_nodes_are_those_with_a_slot_written_since(made):
    told = [
        node.id
        for node in made[0]
        for slot in node.saved
        if None not in (slot.version_saved, slot.version_now) and slot.version_saved != slot.version_now
    ]
    assert Graph.of(*made).modified_nodes == set(told)


@given(rows())
def test_equal_rows_are_equal_graphs_and_travel_unchanged(made):
    graph, again = Graph.of(*made, saved_bytes=3), Graph.of(*made, saved_bytes=3)
    _ = graph.nodes, graph.node_names, graph.slots.owners
    assert graph == again
    assert hash(graph) == hash(again)
    assert graph != Graph.of(*made)
    assert msgspec.msgpack.encode(graph) == msgspec.msgpack.encode(again)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph), type=Graph) == graph
    assert msgspec.json.decode(msgspec.json.encode(graph), type=Graph) == graph


def test_one_changed_row_makes_another_graph():
    two = [Node(i, "Op", "operation", i, (), (), (), "", None) for i in range(2)]
    graph = Graph.of(two, [Edge(0, 0, 1, 0)])
    assert graph != Graph.of([two[0], msgspec.structs.replace(two[1], module="m")], [Edge(0, 0, 1, 0)])
    assert graph != Graph.of(two, [Edge(0, 0, None, 0)])
    assert graph.nodes == tuple(two)
    assert graph.nodes != (two[0],)
    assert graph.nodes[0:2] == tuple(two)
    assert graph.nodes[::-1] == (two[1], two[0])
    assert two[1] in graph.nodes
    for place in (2, -3):
        with pytest.raises(IndexError, match=f"2 rows; received {place}"):
            graph.nodes[place]


def test_a_node_whose_id_is_not_its_place_is_refused():
    with pytest.raises(ValueError, match="its place in the graph, 0; received 1"):
        Graph.of([Node(1, "Op", "operation", 0, (), (), (), "", None)], [])


def traced(architecture: Any) -> tuple[Graph, torch.Tensor]:
    built = build(ModelSpec(architecture=architecture))
    with record_forward(built.model):
        loss = built.loss(built.forward())
    return trace_graph(loss, built.model, built.inputs), loss


@pytest.mark.parametrize("architecture", one_of_each_class(NETWORKS), ids=lambda one: type(one).__name__)
def test_what_the_walk_writes_is_what_the_rows_pack_to(architecture):
    """The walk fills columns by itself; rows read from them and packed again have to come out the same, tables too."""
    graph, loss = traced(architecture)
    totals = {name: getattr(graph, name) for name in graph.__struct_fields__[4:]}
    assert Graph.of(list(graph.nodes), list(graph.edges), graph.roots, **totals) == graph
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph), type=Graph) == graph
    check_against_torch(graph, loss)


def check_against_torch(graph: Graph, loss: torch.Tensor) -> None:
    """Every row against the node itself, met breadth first as the walk does."""
    order = [loss.grad_fn]
    places = {loss.grad_fn: 0}
    edges = []
    for node in order:
        for slot, (target, input_nr) in enumerate(node.next_functions):
            if target is not None and target not in places:
                places[target] = len(order)
                order.append(target)
            edges.append(Edge(places[node], slot, places.get(target), input_nr))
    assert graph.edges == edges
    assert graph.node_names == [node.name() for node in order]
    for row, node in zip(graph.nodes, order, strict=True):
        assert [one.shape for one in row.inputs] == [tuple(one.shape) for one in node._input_metadata]
        if hasattr(node, "variable"):
            assert (row.kind, row.sequence_nr, row.inputs[0].shape) == ("leaf", None, tuple(node.variable.shape))
        for slot in row.saved:
            check_slot(slot, node)


def check_slot(slot: Saved, node: Any) -> None:
    if slot.unavailable or "[" in slot.name or slot.name == "saved_tensors":
        return
    tensor = getattr(node, f"_saved_{slot.name}")
    found = tuple(tensor.shape), tensor.stride(), tensor.nbytes, tensor.untyped_storage().nbytes(), tensor._version
    assert (slot.shape, slot.stride, slot.bytes, slot.storage_bytes, slot.version_now) == found
    if slot.owner_kind == "intermediate" and not tensor._version and tensor.grad_fn is not None:
        assert slot.owner.split(" #")[0] == tensor.grad_fn.name()


@pytest.mark.parametrize("order", ["<", ">"])
def test_bytes_are_little_endian_on_every_machine(order):
    numbers = np.array([0x0102, 3], dtype=f"{order}i8")
    assert column(numbers) == Array("uint16", (2,), b"\x02\x01\x03\x00")
    assert integers(column(numbers)).tolist() == [0x0102, 3]
    assert integers(column(numbers)).dtype.byteorder in ("=", "<" if sys.byteorder == "little" else ">")


@pytest.mark.parametrize(("largest", "dtype"), [(255, "uint8"), (256, "uint16"), (2**16, "uint32"), (2**32, "uint64")])
def test_the_smallest_dtype_that_holds_all_is_used(largest, dtype):
    assert column([0, largest]).dtype == dtype
    assert optional(optional_column([None, 0, largest])).tolist() == [-1, 0, largest]


def test_numbers_no_column_holds_are_refused():
    for wrong in (np.array([-1, 5]), [-1], [2**64]):
        with pytest.raises(OverflowError):
            column(wrong)
    assert optional(optional_column([2**63 - 1])).tolist() == [2**63 - 1]


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.sampled_from(WORDS), min_size=6, max_size=6))
def test_coded_and_recoded_agree(codes, table):
    values = [table[code] for code in codes]
    found = recoded(np.array(codes, dtype=np.int64), table)
    assert found == coded(values)
    assert found.values() == values
    assert found.table == tuple(dict.fromkeys(values))


class Loop(torch.nn.Module):
    """Steps of a hand-written cell: several operations, saved slots and lines per step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.Linear(4, 8)

    def forward(self, x: torch.Tensor, steps: int) -> torch.Tensor:
        for _ in range(steps):
            gate, value = self.cell(x).chunk(2, dim=-1)
            x = torch.sigmoid(gate) * torch.tanh(value)
        return x


def test_twenty_thousand_nodes_take_few_bytes_on_the_wire():
    model, x = Loop(), torch.ones(1, 4)
    with record_forward(model):
        loss = model(x, 3_400).sum()
    graph = trace_graph(loss, model, {"x": x})
    assert len(graph.nodes) > 20_000
    assert len(graph.slots) > 8_000
    assert len(msgspec.msgpack.encode(graph)) < BYTES_PER_NODE / 4 * len(graph.nodes)
