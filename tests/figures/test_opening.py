"""Links to groups that a graph does not have."""

from __future__ import annotations

import pytest

from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from tests.figures.graphs import HOSTILE, graph, node

MADE = graph(
    [node(i, "MulBackward0", "ab"[i // 4], sequence=8 - i) for i in range(8)], [(i, 0, i + 1) for i in range(7)]
)


@pytest.mark.parametrize("unknown", [("nothing",), ("layers.1", "layers.2"), tuple(HOSTILE)])
def test_where_no_group_of_a_link_is_known_what_fits_is_open(unknown):
    unknown = tuple(filter(None, unknown))
    scene, fitting = build_scene(MADE, GraphView(expanded=unknown)), build_scene(MADE, GraphView())
    assert scene.boxes == fitting.boxes
    count = "1 group of this link is" if len(unknown) == 1 else f"{len(unknown)} groups of this link are"
    assert scene.notes == (f"{count} not in this graph; open is what fits.",)


def test_known_groups_open_and_the_others_are_told():
    scene = build_scene(MADE, GraphView(expanded=("a", "nothing")))
    assert scene.expanded == ("a",)
    assert scene.notes == ("1 group of this link is not in this graph.",)


@pytest.mark.parametrize("nothing", [(), ("",)])
def test_all_closed_by_hand_stays_closed_without_a_note(nothing):
    scene = build_scene(MADE, GraphView(expanded=nothing))
    assert scene.expanded == scene.notes == ()


def test_the_inside_of_a_group_does_not_make_the_others_unknown():
    assert "not in this graph" not in " ".join(build_scene(MADE, GraphView(expanded=("a", "b"), inside="a")).notes)
