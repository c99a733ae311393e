"""From an address to a picture that shows it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.hierarchy import groups_of
from engine.figures.reveal import node_at, revealed
from engine.figures.scene import draw, prepare
from engine.figures.view import GraphView
from tests.figures.graphs import HOSTILE, chain, graph, linear_relu, node, random_graphs

SMALL = GraphView(maximum_boxes=3, ceiling_boxes=5000)


def shows(scene, number: int) -> bool:
    """Whether a box that is no group stands for the node."""
    return any(number in scene.members[box.address] for box in scene.boxes if box.role == "node")


@settings(max_examples=12, deadline=None)
@given(random_graphs(20), st.booleans())
def test_every_address_leads_to_a_picture_that_shows_its_node(made, leaves):
    view = GraphView(maximum_boxes=3, ceiling_boxes=5000, fold_leaves=leaves)
    prepared = prepare(made, view)
    first = draw(prepared, view)
    for number, address in enumerate(prepared.names):
        assert node_at(prepared, address) == number
        opened, why = revealed(prepared, view, first, address)
        assert opened is not None, why
        assert shows(draw(prepared, opened), number)


@settings(max_examples=15, deadline=None)
@given(random_graphs())
def test_what_was_open_stays_open(made):
    prepared = prepare(made, SMALL)
    first = draw(prepared, SMALL)
    opened, _ = revealed(prepared, SMALL, first, prepared.names[-1])
    assert set(first.expanded) <= set(draw(prepared, opened).expanded)


@settings(max_examples=15, deadline=None)
@given(random_graphs())
def test_a_group_is_shown_and_not_opened(made):
    view = GraphView(expanded=(), maximum_boxes=3, ceiling_boxes=5000)
    prepared = prepare(made, view)
    for address in groups_of(prepared.tree):
        opened, _ = revealed(prepared, view, None, address)
        roles = {box.address: box.role for box in draw(prepared, opened).boxes}
        assert roles[address] == "group"


def test_a_node_deep_in_a_long_chain():
    made = chain(5000, "a.b")
    prepared = prepare(made, SMALL)
    first = draw(prepared, SMALL)
    address = prepared.names[2500]
    assert all(box.address != address for box in first.boxes)
    opened, _ = revealed(prepared, SMALL, first, address)
    assert any(box.address == address for box in draw(prepared, opened).boxes)


@pytest.mark.parametrize(("wanted", "inside"), [("a/MulBackward0#0", "a"), ("b/MulBackward0#0", "")])
def test_the_inside_of_a_group_is_left_when_the_node_is_elsewhere(wanted, inside):
    nodes = [node(i, "MulBackward0", "ba"[i // 3], sequence=6 - i) for i in range(6)]
    view = GraphView(maximum_boxes=3, inside="a")
    prepared = prepare(graph(nodes, [(i, 0, i + 1) for i in range(5)]), view)
    opened, _ = revealed(prepared, view, draw(prepared, view), wanted)
    assert opened.inside == inside
    assert any(box.address == wanted for box in draw(prepared, opened).boxes)


@pytest.mark.parametrize("by_hand", [False, True])
def test_leaving_a_group_keeps_open_what_was_open_in_the_whole_graph_and_says_so(by_hand):
    nodes = [node(i, "MulBackward0", ("a.x", "a.y", "b")[i // 4], sequence=12 - i) for i in range(12)]
    made = graph(nodes, [(i, 0, i + 1) for i in range(11)])
    view = GraphView(maximum_boxes=9, inside="a", expanded=("a.x",) if by_hand else None)
    prepared = prepare(made, view)
    whole = draw(prepared, msgspec.structs.replace(view, inside=""))
    opened, words = revealed(prepared, view, None if by_hand else draw(prepared, view), "b/MulBackward0#0")
    assert words == "b/MulBackward0#0 is not inside of a; all of the graph is drawn."
    assert set(whole.expanded) | {"b"} == set(draw(prepared, opened).expanded)


@pytest.mark.parametrize("address", ["", "no/such#0", "lin/AddmmBackward0#7", *HOSTILE])
def test_an_address_of_another_graph_is_refused_in_words(address):
    prepared = prepare(linear_relu(), SMALL)
    opened, why = revealed(prepared, SMALL, None, address)
    assert opened is None
    assert "not in this graph" in why
    assert len(why) < 250
