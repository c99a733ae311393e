"""The index against the graph's own rows, read one at a time."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.comparison import compare_graphs
from engine.figures.fold import FoldToggles, addresses, fold, is_leaf
from engine.figures.index import GraphIndex, index_of
from engine.figures.payload import unpack
from engine.figures.scene import draw, encode_scene, prepare
from engine.figures.units import format_shape
from engine.figures.view import GraphView
from engine.graph.spec import Graph, Node
from tests.figures.graphs import HOSTILE, chain, graph, leaf, linear_relu, node, random_graphs, saved, tied_loop

TOGGLES = (FoldToggles(), FoldToggles(False, False, False), FoldToggles(leaves=False))


def indexed(made: Graph, toggles: FoldToggles = TOGGLES[0], kinds=None) -> tuple[GraphIndex, list[str]]:
    folded = fold(made, toggles, kinds)
    names = addresses(made, folded.keys)
    return index_of(made, folded, names, kinds), names


def column(index: GraphIndex, name: str) -> list[int]:
    found = index.columns[name]
    return [int(value) for value in np.frombuffer(found.data, np.dtype(found.dtype).newbyteorder("<"))]


def words(index: GraphIndex, name: str) -> list:
    return [index.tables[name][number] for number in column(index, name)]


def kept_bytes(one: Node) -> int:
    """Each storage once, what was dropped not at all: by hand, one slot at a time."""
    kept = [slot for slot in one.saved if not slot.dropped and not slot.unavailable]
    storages = {slot.storage_id: slot.storage_bytes for slot in kept if slot.storage_id is not None}
    return sum(storages.values()) + sum(slot.bytes for slot in kept if slot.storage_id is None)


@settings(max_examples=30, deadline=None)
@given(random_graphs(), st.sampled_from(TOGGLES))
def test_every_column_says_what_the_rows_say(made, toggles):
    index, names = indexed(made, toggles)
    assert words(index, "operation") == [one.name for one in made.nodes]
    assert words(index, "module") == [one.module for one in made.nodes]
    assert words(index, "variable") == [one.variable for one in made.nodes]
    assert column(index, "saved_bytes") == [kept_bytes(one) for one in made.nodes]
    shapes = ["\n".join(format_shape(given.shape) for given in one.inputs) for one in made.nodes]
    assert [entry[0] for entry in words(index, "inputs")] == shapes
    edges = [(edge.source, edge.target, edge.output_nr) for edge in made.edges if edge.target is not None]
    assert list(zip(*(column(index, name) for name in ("consumer", "producer", "slot")), strict=True)) == edges
    assert index.roots == tuple((root.name, root.node) for root in made.roots)
    spelled = [
        f"{one.variable if is_leaf(one) else one.module}/{one.name.replace('torch::autograd::', '')}#{count}"
        for one, count in zip(made.nodes, column(index, "count"), strict=True)
    ]
    assert spelled == names


@settings(max_examples=30, deadline=None)
@given(random_graphs(), st.sampled_from(TOGGLES))
def test_every_node_is_at_the_box_that_shows_it(made, toggles):
    folded = fold(made, toggles)
    index = index_of(made, folded, addresses(made, folded.keys))
    place = {box: position for position, box in enumerate(folded.order)}
    at = column(index, "at")
    reached = [(number, edge) for number, edge in enumerate(made.edges) if edge.target is not None]
    for one in made.nodes:
        host = folded.host[one.id]
        uses = [number for number, edge in reached if edge.target == one.id]
        boxes = [folded.uses.get(number, folded.host[made.edges[number].source]) for number in uses]
        assert at[one.id] == (place[host] if host != -1 else min(place[box] for box in boxes))
    use_edge, use_at = column(index, "use_edge"), column(index, "use_at")
    told = {reached[edge][0]: position for edge, position in zip(use_edge, use_at, strict=True)}
    assert told == {number: place[box] for number, box in folded.uses.items()}
    assert index.boxes == len(folded.order)


def test_names_of_tensors_are_the_leaf_the_owners_and_the_outputs():
    slots = [saved(1, 64), saved(2, 256, owner="parameter")]
    slots[1] = msgspec.structs.replace(slots[1], owner="lin.weight")
    made = graph(
        [node(0, "AddmmBackward0", "lin", sequence=1, slots=slots), leaf(1, "lin.bias", "lin")],
        [(0, 0, 1)],
        roots=(("loss", 0), ("also", 0)),
    )
    index, _ = indexed(made)
    assert words(index, "tensor") == ["lin.weight\nloss\nalso", "lin.bias"]


def test_kinds_are_the_words_of_the_legend_and_whose_a_leaf_is():
    index, _ = indexed(linear_relu(), kinds={"lin.weight": "buffer"})
    kinds = ["operation", "operation", "operation", "leaf parameter", "view", "leaf buffer"]
    assert words(index, "kind") == kinds


def test_a_leaf_used_in_every_step_is_at_its_first_use():
    index, names = indexed(tied_loop(5))
    assert column(index, "at")[names.index("step.weight/AccumulateGrad#0")] == 0


def test_the_canvas_gets_the_columns_behind_the_scene():
    view = GraphView()
    prepared = prepare(linear_relu(), view)
    index = index_of(prepared.graph, prepared.folded, prepared.names)
    content, columns = unpack(encode_scene(draw(prepared, view), index))
    assert columns == {name: values.data for name, values in index.columns.items()}
    assert content["index"]["tables"]["operation"] == list(index.tables["operation"])
    assert content["index"]["boxes"] == index.boxes
    assert unpack(encode_scene(draw(prepared, view)))[1] == {}


def test_other_words_have_another_stamp():
    one, same, other = (indexed(chain(6, module))[0].stamp for module in ("a", "a", "b"))
    assert one == same != other


def test_hostile_names_stay_as_they_are():
    made = graph([node(i, name, name, sequence=9 - i) for i, name in enumerate(HOSTILE)], [(0, 0, 1)])
    index, _ = indexed(made)
    assert words(index, "module") == list(HOSTILE)


def test_an_empty_graph_has_an_empty_index():
    index, _ = indexed(graph([], [], roots=()))
    assert index.boxes == 0
    assert {len(values.data) for values in index.columns.values()} == {0}


@pytest.mark.parametrize("size", [2**32 - 1, 2**32, 2**40 + 3])
def test_sizes_beyond_32_bits_are_exact(size):
    slot = msgspec.structs.replace(saved(0, 4), storage_bytes=size)
    index, _ = indexed(graph([node(0, "MulBackward0", slots=[slot])], []))
    assert column(index, "saved_bytes") == [size]


def test_100_000_nodes_are_under_three_megabytes():
    made = chain(100_000)
    index, _ = indexed(made)
    assert sum(len(values.data) for values in index.columns.values()) < 3_000_000


def test_what_only_run_a_has_is_indexed_without_its_edges():
    a, b = chain(8, "a"), chain(5, "a")
    view = GraphView()
    prepared = prepare(b, view, compared=compare_graphs(a, b))
    assert len(prepared.graph.nodes) > len(b.nodes)
    index = index_of(prepared.graph, prepared.folded, prepared.names, own=prepared.marking.own)
    assert index.real == len(b.nodes)
    assert len(column(index, "operation")) == len(prepared.graph.nodes)
    assert list(zip(column(index, "consumer"), column(index, "producer"), strict=True)) == [
        (edge.source, edge.target) for edge in b.edges
    ]
