"""Which operand is which: slot numbers, empty slots, unused outputs and saved tensors modified since."""

from __future__ import annotations

import msgspec
import pytest

from engine.figures.box_words import MAXIMUM, SMALL, TITLE, room_for
from engine.figures.scene import build_scene
from engine.figures.svg import scene_svg
from engine.figures.view import GraphView
from engine.graph.spec import Edge, Graph, TensorMetadata
from tests.figures.graphs import graph, leaf, linear_relu, node, saved


def cat_list():
    """loss <- Cat([a, constant, b, a]); the edges are listed out of order on purpose."""
    nodes = [node(0, "SumBackward0", sequence=1), node(1, "CatBackward0", sequence=0), leaf(2, "a"), leaf(3, "b")]
    return graph(nodes, [(0, 0, 1), (1, 3, 2), (1, 2, 3), (1, 1, None), (1, 0, 2)])


def one_node(name, edges, *leaves):
    return graph([node(0, name, sequence=0), *leaves], edges)


def texts(made, title):
    (box,) = (box for box in build_scene(made).boxes if box.title == title)
    return [marker.text for marker in box.leaves]


def legend(scene):
    return [scene.colours[i].label for i in scene.legend]


def test_a_list_shows_its_leaves_and_holes_in_slot_order():
    assert texts(cat_list(), "Cat") == ["0: a 8×8", "1: None", "2: b 8×8", "3: a 8×8"]
    scene = build_scene(cat_list())
    assert "empty slot" in legend(scene)
    assert "1: None" in scene_svg(scene)
    empty = next(m for box in scene.boxes for m in box.leaves if m.kind == "empty")
    assert empty.address == "" not in scene.members
    assert empty.tooltip.startswith("input 1 is empty")


@pytest.mark.parametrize(
    ("edges", "leaves", "shown"),
    [
        ([(0, 0, 1), (0, 1, None)], ["a"], ["0: a 8×8", "1: None"]),
        ([(0, 0, None), (0, 1, 1)], ["a"], ["0: None", "1: a 8×8"]),
        ([(0, 1, 1), (0, 0, 2)], ["a", "b"], ["0: b 8×8", "1: a 8×8"]),
        ([(0, 0, 1), (0, 1, 1)], ["a"], ["0: a 8×8", "1: a 8×8"]),
        ([(0, 0, 1)], ["a"], ["a 8×8"]),
        ([(0, 1, 1), (0, 2, 2), (0, 0, None)], ["lin.weight", "lin.bias"], ["weight 8×8", "bias 8×8"]),
        ([(0, 0, 1), (0, 1, 2)], ["p.weight", "q.weight"], ["0: weight 8×8", "1: weight 8×8"]),
    ],
)
def test_numbers_stand_where_the_order_matters(edges, leaves, shown):
    made = one_node("SubBackward0", edges, *(leaf(i + 1, name) for i, name in enumerate(leaves)))
    assert texts(made, "Sub") == shown


def test_a_leaf_behind_a_folded_view_has_the_slots_of_its_box():
    nodes = [node(0, "MulBackward0", sequence=2), node(1, "TBackward0", kind="view", sequence=1), leaf(2, "a")]
    assert texts(graph(nodes, [(0, 0, None), (0, 1, 1), (1, 0, 2)]), "Mul") == ["0: None", "1: a 8×8"]
    twice = graph([*nodes, leaf(3, "b")], [(0, 0, 1), (0, 1, 1), (0, 2, 3), (1, 0, 2)])
    assert texts(twice, "Mul") == ["0, 1: a 8×8", "2: b 8×8"]


def unbind(used, roots=(("loss", 0),)):
    """Outputs `used` of an Unbind with three feed an Add."""
    three = (TensorMetadata((4,), "float32", "cpu"),) * 3
    nodes = [
        node(0, "AddBackward0", sequence=1),
        msgspec.structs.replace(node(1, "UnbindBackward0", sequence=0), inputs=three),
        leaf(2, "x"),
    ]
    edges = [Edge(0, slot, 1, number) for slot, number in enumerate(used)]
    return Graph.of(nodes, (*edges, Edge(1, 0, 2, 0)), graph(nodes, [], roots).roots)


@pytest.mark.parametrize(
    ("used", "line"), [((0, 2), "output 1 unused"), ((1,), "outputs 0, 2 unused"), ((0, 1, 2), None)]
)
def test_outputs_that_nobody_uses_are_told(used, line):
    lines = [line for box in build_scene(unbind(used)).boxes for line in box.lines if "unused" in line]
    assert lines == ([line] if line else [])


def test_a_traced_output_is_a_use():
    made = unbind((0, 2))
    roots = (*made.roots, msgspec.structs.replace(made.roots[0], name="second", node=1, input_nr=1))
    scene = build_scene(msgspec.structs.replace(made, roots=roots))
    assert not [line for box in scene.boxes for line in box.lines if "unused" in line]


def modified(direction=1):
    fresh, stale = saved(0, 64), msgspec.structs.replace(saved(1, 64), version_now=direction)
    nodes = [
        node(0, "SumBackward0", "m", sequence=1, slots=[fresh]),
        node(1, "MulBackward0", "m", sequence=0, slots=[fresh, stale]),
    ]
    return graph(nodes, [(0, 0, 1)])


@pytest.mark.parametrize("view", [GraphView(), GraphView(expanded=()), GraphView(colour_by="dtype")])
def test_a_slot_modified_since_it_was_saved_marks_its_box(view):
    scene = build_scene(modified(), view)
    (box,) = (box for box in scene.boxes if box.mark)
    assert (box.mark, box.title) == ("modified", "m" if view.expanded == () else "Mul")
    assert "1 slot modified in place" in box.lines
    assert "saved, then modified in place" in legend(scene)


def test_unchanged_and_unknown_versions_mark_nothing():
    assert not [box for box in build_scene(modified(0)).boxes if box.mark]
    assert not [box for box in build_scene(modified(None)).boxes if box.mark]


def test_joined_outputs_and_short_markers_have_room_for_all_their_text():
    made = graph([node(0, "SumBackward0", sequence=0)], [], roots=(("loss", 0), ("output", 0)))
    (box,) = build_scene(made).boxes
    assert MAXIMUM >= box.width >= SMALL * len("loss, output") + 40 > TITLE * len("Sum") + 34
    assert room_for("mmm") > room_for("iii") >= 3 * SMALL + 24


def test_linear_stays_calm():
    assert texts(linear_relu(), "Addmm") == ["bias (8,)", "weight 8×8"]


@pytest.mark.parametrize(
    ("used", "shown"), [((0, 0), [""]), ((2, 2), ["#2"]), ((0, 2), ["#0, 2"]), ((2, 1, 0), ["#0, 1, 2"])]
)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_wires_say_which_output_they_come_from(used, shown, direction):
    scene = build_scene(unbind(used), GraphView(direction=direction))
    assert [wire.outputs for wire in scene.wires] == shown
    assert all(f">{text}</text>" in scene_svg(scene) for text in shown if text)


def test_output_numbers_of_a_closed_group_would_be_ambiguous():
    made = unbind((0, 2))
    inside = tuple(msgspec.structs.replace(n, module="m") if n.id else n for n in made.nodes)
    extra = node(3, "ExpBackward0", "m", sequence=0)
    grouped = Graph.of((*inside, extra), (*made.edges, Edge(0, 2, 3, 0)), made.roots)
    assert "#0, 2" in [wire.outputs for wire in build_scene(grouped).wires]
    assert [wire.outputs for wire in build_scene(grouped, GraphView(expanded=())).wires] == [""]
