"""The picture of a graph: complete, free of overlaps, openable everywhere, and safe with any name."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.comparison import compare_graphs
from engine.figures.notes import WHAT_TO_DO
from engine.figures.payload import unpack
from engine.figures.reveal import toggled
from engine.figures.scene import build_scene, encode_scene
from engine.figures.view import GraphView
from engine.graph.spec import Graph, Root
from tests.figures.graphs import HOSTILE, chain, graph, leaf, linear_relu, node, random_graphs, saved, tied_loop

VIEWS = st.builds(
    GraphView,
    fold_leaves=st.booleans(),
    fold_transposes=st.booleans(),
    fold_views=st.booleans(),
    fold_copies=st.booleans(),
    colour_by=st.sampled_from(["kind", "saved bytes", "dtype", "module"]),
    direction=st.sampled_from(["forward", "backward"]),
    maximum_boxes=st.integers(1, 80),
    columns=st.booleans(),
)


def boxes_of(scene):
    return {box.address: box for box in scene.boxes}


@given(random_graphs(), VIEWS)
@settings(deadline=None)
def test_boxes_do_not_overlap_and_frames_hold_theirs(made, view):
    scene = build_scene(made, view)
    solid = [box for box in scene.boxes if box.role != "frame"]
    for a, b in itertools.combinations(solid, 2):
        across = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
        down = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
        assert across <= 0.3 or down <= 0.3, (a.address, b.address)
    for frame in (box for box in scene.boxes if box.role == "frame"):
        for box in solid:
            inside = frame.x - 0.2 <= box.x and box.x + box.width <= frame.x + frame.width + 0.2
            inside = inside and frame.y - 0.2 <= box.y and box.y + box.height <= frame.y + frame.height + 0.2
            within = set(scene.members[box.address]) <= set(scene.members[frame.address])
            beside = (
                box.x + box.width <= frame.x + 0.2
                or frame.x + frame.width <= box.x + 0.2
                or box.y + box.height <= frame.y + 0.2
                or frame.y + frame.height <= box.y + 0.2
            )
            assert inside or beside, (frame.address, box.address)
            assert within or beside, (frame.address, box.address)


@given(random_graphs(), VIEWS)
@settings(deadline=None)
def test_wires_start_and_end_on_their_boxes(made, view):
    scene = build_scene(made, view)
    for wire in scene.wires:
        source, target = scene.boxes[wire.source], scene.boxes[wire.target]
        (x0, y0), (x1, y1) = wire.curve[:2], wire.curve[-2:]
        assert y0 == pytest.approx(source.y + source.height, abs=0.3)
        assert y1 == pytest.approx(target.y, abs=0.3)
        assert source.x - 0.3 <= x0 <= source.x + source.width + 0.3
        assert target.x - 0.3 <= x1 <= target.x + target.width + 0.3


@given(random_graphs(), VIEWS)
@settings(deadline=None)
def test_every_node_is_in_the_picture_and_in_one_box(made, view):
    scene = build_scene(made, view)
    held = [n for box in scene.boxes if box.role != "frame" for n in set(scene.members[box.address])]
    assert set(held) == set(range(len(made.nodes)))
    operations = [n for n in held if made.nodes[n].kind != "leaf"]
    assert len(operations) == len(set(operations))
    assert scene.nodes_total == len(made.nodes) >= scene.nodes_shown


@given(random_graphs(60), VIEWS)
@settings(deadline=None)
def test_every_node_is_reached_by_opening(made, view):
    view = msgspec.structs.replace(view, maximum_boxes=1, ceiling_boxes=5000, expanded=())
    scene = build_scene(made, view)
    for _ in range(200):
        closed = [box.address for box in scene.boxes if box.role == "group"]
        if not closed:
            break
        view = toggled(view, scene, closed[0])
        scene = build_scene(made, view)
        assert closed[0] in scene.expanded
    assert scene.nodes_shown == len(made.nodes)


@given(random_graphs(), VIEWS)
@settings(deadline=None)
def test_the_same_view_gives_the_same_bytes(made, view):
    assert encode_scene(build_scene(made, view)) == encode_scene(build_scene(made, view))


def test_linear_relu_in_words():
    scene = build_scene(linear_relu(), GraphView(), types={"lin": "Linear"})
    found = boxes_of(scene)
    assert list(found) == ["lin/AddmmBackward0#0", "act/ReluBackward0#0", "/SumBackward0#0"]
    addmm = found["lin/AddmmBackward0#0"]
    assert (addmm.title, addmm.lines) == ("Addmm", ("lin", "4×8 · saves 320 B"))
    assert [(m.text, m.kind, m.address) for m in addmm.leaves] == [
        ("bias (8,)", "parameter", "lin.bias/AccumulateGrad#0"),
        ("weight 8×8", "parameter", "lin.weight/AccumulateGrad#0"),
    ]
    assert addmm.empty == (1,)
    assert found["/SumBackward0#0"].outputs == ("loss",)
    assert {(w.edges, *w.lines) for w in scene.wires} == {
        (1, "Addmm output 0 → Relu input 0   4×8 float32"),
        (1, "Relu output 0 → Sum input 0   4×8 float32"),
    }
    assert scene.members["lin/AddmmBackward0#0"] == (2, 4, 3, 5)
    assert scene.members["lin.weight/AccumulateGrad#0"] == (5,)
    assert (scene.nodes_shown, scene.nodes_total) == (6, 6)


def test_backward_turns_the_flow():
    forward, backward = build_scene(linear_relu()), build_scene(linear_relu(), GraphView(direction="backward"))
    assert boxes_of(forward)["/SumBackward0#0"].y > boxes_of(forward)["lin/AddmmBackward0#0"].y
    assert boxes_of(backward)["/SumBackward0#0"].y < boxes_of(backward)["lin/AddmmBackward0#0"].y
    ends = {(backward.boxes[w.source].title, backward.boxes[w.target].title) for w in backward.wires}
    assert ends == {("Relu", "Addmm"), ("Sum", "Relu")}


def test_shared_storage_counts_once_and_dropped_slots_are_told():
    made = graph(
        [
            node(0, "MulBackward0", "m", sequence=1, slots=[saved(7, 400), saved(7, 400)]),
            node(1, "ExpBackward0", "m", sequence=0, slots=[saved(7, 400), saved(8, 100, dropped=True)]),
        ],
        [(0, 0, 1)],
    )
    (group,) = build_scene(made, GraphView(expanded=())).boxes
    assert (group.saved_bytes, group.dropped, group.nodes) == (400, 1, 2)
    assert "saves 400 B · 1 slot dropped" in group.lines


def test_a_large_loop_opens_small_and_never_shows_more_than_the_ceiling():
    made = tied_loop(400)
    scene = build_scene(made, GraphView(maximum_boxes=60))
    assert sum(box.role != "frame" for box in scene.boxes) <= 60
    view = GraphView(expanded=())
    for _ in range(25):
        scene = build_scene(made, view)
        view = toggled(view, scene, next(box.address for box in scene.boxes if box.role == "group"))
    scene = build_scene(made, view)
    assert sum(box.role != "frame" for box in scene.boxes) <= 300
    assert scene.boxes


def test_a_frame_closes_with_what_is_open_inside():
    made = tied_loop(400)
    scene = build_scene(made, GraphView(maximum_boxes=200))
    outer = scene.boxes[0]
    assert any(box.role == "frame" for box in scene.boxes[1:])
    closed = build_scene(made, toggled(GraphView(maximum_boxes=200), scene, outer.address))
    assert boxes_of(closed)[outer.address].role == "group"


def test_legible_pages_open_less():
    made = chain(150, "m", tuple(f"Op{i}Backward0" for i in range(150)))
    free = build_scene(made, GraphView(maximum_boxes=200))
    page = build_scene(made, GraphView(maximum_boxes=200, legible_in=(1100, 600)))
    assert len(page.boxes) <= len(free.boxes)


def test_added_and_removed_nodes_are_marked():
    less = graph([node(0, "SumBackward0", sequence=1), node(1, "MulBackward0", "m", sequence=0)], [(0, 0, 1)])
    more = graph(
        [
            node(0, "SumBackward0", sequence=2),
            node(1, "ReluBackward0", "m", sequence=1),
            node(2, "MulBackward0", "m", sequence=0),
        ],
        [(0, 0, 1), (1, 0, 2)],
    )
    added = build_scene(more, compared=compare_graphs(less, more))
    assert {box.title: box.mark for box in added.boxes if box.role == "node"} == {"Mul": "", "Relu": "added", "Sum": ""}
    labels = [added.colours[i].label for i in added.legend]
    assert [label for label in labels if label.endswith("since A")] == [
        "added since A",
        "removed since A",
        "changed since A",
    ]
    removed = build_scene(less, compared=compare_graphs(more, less))
    assert removed.removed == ("m/ReluBackward0#0",)
    assert {b.title: b.mark for b in removed.boxes if b.role == "node"} == {"Mul": "", "Relu": "removed", "Sum": ""}
    assert (removed.nodes_total, removed.nodes_shown, removed.edges_total) == (2, 2, 1)
    closed = build_scene(more, GraphView(expanded=()), compared=compare_graphs(less, more))
    assert {box.title: box.mark for box in closed.boxes} == {"m": "changed", "Sum": ""}
    assert "+1 since A" in next(box.lines for box in closed.boxes if box.title == "m")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    made = graph(
        [node(0, name, name, sequence=1), node(1, "MulBackward0", name, sequence=0), leaf(2, f"{name}.w", name)],
        [(0, 0, 1), (1, 0, 2)],
        roots=((name, 0),),
    )
    for view in (GraphView(), GraphView(expanded=()), GraphView(fold_leaves=False, colour_by="module")):
        scene = build_scene(made, view, types={name: name})
        decoded = unpack(encode_scene(scene))[0]
        assert len(decoded["boxes"]) == len(scene.boxes)
        assert all(len(word) <= 100 for box in scene.boxes for word in (box.title, *box.lines, *box.tooltip[:2]))
        assert all(box.width <= 260 for box in scene.boxes if box.role != "frame")


def test_nothing_to_draw_says_why():
    empty = Graph.of(nodes=(), edges=(), roots=(Root("loss", None, 0, (), "float32", "made under no_grad"),))
    scene = build_scene(empty)
    assert scene.summary == f"Nothing to draw: made under no_grad. {WHAT_TO_DO}"
    assert scene.boxes == scene.wires == ()
    assert scene.notes == ("loss: made under no_grad",)
    unpack(encode_scene(scene))[0]


def test_views_refuse_nonsense():
    with pytest.raises(ValueError, match="maximum_boxes must be between 1 and 5000; received 0"):
        GraphView(maximum_boxes=0)


def test_colours_by_bytes_and_dtype_name_what_they_show():
    by_bytes = build_scene(linear_relu(), GraphView(colour_by="saved bytes"))
    labels = [by_bytes.colours[i].label for i in by_bytes.legend]
    assert "nothing saved" in labels
    assert any(label.startswith("saves up to ") for label in labels)
    by_dtype = build_scene(linear_relu(), GraphView(colour_by="dtype"))
    assert "float32" in [by_dtype.colours[i].label for i in by_dtype.legend]


def test_inside_a_group_only_its_boxes_are_drawn_and_crossing_edges_are_counted():
    # Forward: a (m.x), b (m.x), c (m.x), then d outside; d also uses a.
    made = graph(
        [
            node(0, "SumBackward0", sequence=3),
            node(1, "AddBackward0", "m.x", sequence=2),
            node(2, "MulBackward0", "m.x", sequence=1),
            node(3, "ReluBackward0", "m.x", sequence=0),
        ],
        [(0, 0, 1), (0, 1, 3), (1, 0, 2), (2, 0, 3)],
    )
    scene = build_scene(made, GraphView(inside="m.x"))
    assert [box.title for box in scene.boxes] == ["Relu", "Mul", "Add"]
    assert {(wire.source, wire.target) for wire in scene.wires} == {(0, 1), (1, 2)}
    assert scene.notes == ("Only the inside of m.x is drawn, without 0 edges that enter it and 2 that leave it.",)


@given(random_graphs(60), VIEWS)
@settings(deadline=None, max_examples=20)
def test_inside_any_group_everything_of_it_can_be_opened(made, view):
    view = msgspec.structs.replace(view, ceiling_boxes=5000, expanded=())
    for group in [box for box in build_scene(made, view).boxes if box.role == "group"]:
        within = build_scene(made, msgspec.structs.replace(view, inside=group.address))
        held = {n for box in within.boxes for n in within.members[box.address]}
        assert len(held) == group.nodes
        assert group.address not in {box.address for box in within.boxes}


def test_an_unknown_group_draws_the_whole_graph_and_says_so():
    scene = build_scene(linear_relu(), GraphView(inside="no such"))
    assert len(scene.boxes) == 3
    assert scene.notes == ("There is no group no such in this graph; all of it is drawn.",)
