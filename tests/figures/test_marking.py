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
