"""What a comparison marks in the picture: groups, wires, and what of it counts inside one group."""

from __future__ import annotations

from functools import cache

import pytest

from engine import run
from engine.figures.comparison import Compared, compare_graphs
from engine.figures.scene import Scene, build_scene
from engine.figures.view import GraphView
from engine.graph.spec import Graph, GraphSpec
from engine.models.spec import Mlp, ModelSpec

MODELS = {
    "four": ModelSpec(architecture=Mlp(layers=4, depth=4)),
    "frozen": ModelSpec(architecture=Mlp(layers=4, depth=4), frozen=("layers.2",)),
    "residual": ModelSpec(architecture=Mlp(residual=True)),
    "no residual": ModelSpec(architecture=Mlp(residual=False)),
}


@cache
def of(name: str) -> Graph:
    return run(GraphSpec(model=MODELS[name], backward=False), inline=True).graph


@cache
def against(first: str, second: str) -> Compared:
    return compare_graphs(of(first), of(second))


def drawn(first: str, second: str, **view: object) -> Scene:
    return build_scene(of(second), GraphView(**view), compared=against(first, second))  # type: ignore[arg-type]


@pytest.mark.parametrize("opened", [(), ("layers",), ("layers", "layers.2")])
def test_a_group_that_still_has_nodes_is_not_removed(opened):
    scene = drawn("four", "frozen", expanded=opened, show_removed=False)
    groups = [box for box in scene.boxes if box.role != "node"]
    assert groups
    assert all(scene.members[box.address] for box in groups)
    assert all(box.mark != "removed" for box in groups)
    assert any(box.mark == "changed" or box.role == "frame" for box in groups)


@pytest.mark.parametrize(("first", "second"), [("residual", "no residual"), ("no residual", "residual")])
@pytest.mark.parametrize("opened", [None, (), ("layers",)])
def test_every_wire_is_of_one_run_and_marked_so(first, second, opened):
    scene, found = drawn(first, second, expanded=opened, maximum_boxes=500), against(first, second)
    marks = [wire.mark for wire in scene.wires]
    assert marks == sorted(marks, key=lambda mark: mark != "removed")
    drawn_gone = sum(wire.edges for wire in scene.wires if wire.mark == "removed")
    assert drawn_gone <= len(found.union.gone)
    if opened is None:
        assert drawn_gone == len(found.union.gone)
        assert sum(wire.edges for wire in scene.wires if wire.mark == "added") == len(found.union.added)


def test_a_new_wire_between_two_nodes_that_a_had_is_added():
    scene = drawn("residual", "no residual", maximum_boxes=500)
    ends = [(scene.boxes[w.source], scene.boxes[w.target]) for w in scene.wires if w.mark == "added"]
    assert [(source.title, target.title) for source, target in ends] == [("Relu", "Addmm")] * 2
    assert not any(box.mark == "added" for pair in ends for box in pair)


def test_a_closed_group_has_one_wire_for_what_is_new_and_one_for_what_is_gone():
    scene = drawn("residual", "no residual", expanded=())
    marks = [w.mark for w in scene.wires if (scene.boxes[w.source].title, scene.boxes[w.target].title)[0] == "layers"]
    assert marks == ["removed", "added"]


def test_a_gone_wire_takes_no_way_of_one_that_is_there():
    scene = drawn("residual", "no residual", maximum_boxes=500)
    gone, there = ([w.curve for w in scene.wires if (w.mark == "removed") == is_gone] for is_gone in (True, False))
    pieces = {curve[i : i + 8] for curve in there for i in range(0, len(curve) - 7, 6)}
    shared = {curve[i : i + 8] for curve in gone for i in range(0, len(curve) - 7, 6)} & pieces
    assert not shared


@pytest.mark.parametrize("show_removed", [True, False])
@pytest.mark.parametrize("group", ["layers", "layers.2", "layers.0"])
def test_a_group_drawn_alone_counts_only_what_is_gone_from_it(group, show_removed):
    found = against("four", "frozen")
    scene = drawn("four", "frozen", inside=group, show_removed=show_removed)
    gone = [found.a.nodes[i].module for i in found.ghosts]
    assert len(scene.removed) == sum(path == group or path.startswith(f"{group}.") for path in gone)
    assert set(scene.removed) <= set(found.removed)
    assert len(drawn("four", "frozen", show_removed=show_removed).removed) == len(gone) > 0


@pytest.mark.parametrize("view", [{"maximum_boxes": 500}, {"expanded": ("layers",)}, {"show_removed": False}])
@pytest.mark.parametrize(("first", "second"), [("residual", "no residual"), ("four", "frozen"), ("four", "residual")])
def test_the_tooltip_of_a_ghost_begins_with_where_it_is(first, second, view):
    scene = drawn(first, second, **view)
    for box in scene.boxes:
        is_ghost = not scene.members[box.address] and bool(scene.ghosts[box.address])
        assert (box.tooltip[0] == "only in A") == is_ghost
