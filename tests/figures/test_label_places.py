"""Words along wires: beside everything, once a tensor; what differs from A shows in the SVG."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from engine.figures.label_places import HEIGHT, curve_points, place_words
from engine.figures.palette import meaning
from engine.figures.scene import build_scene
from engine.figures.svg import scene_svg
from engine.figures.view import GraphView
from engine.graph.spec import Edge, Graph, TensorMetadata
from tests.figures.graphs import graph, linear_relu, node, random_graphs


def overlap(a, b):
    """Rectangles as (left, top, right, bottom)."""
    return a[0] < b[2] and a[2] > b[0] and a[1] < b[3] and a[3] > b[1]


@given(random_graphs())
@settings(deadline=None, max_examples=25)
def test_words_lie_on_no_box_no_wire_and_no_other_words(made):
    scene = build_scene(made, GraphView(maximum_boxes=80))
    places = [(at.x, at.y, at.x + at.width, at.y + HEIGHT) for at in place_words(scene).labels]
    boxes = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in scene.boxes if b.role != "frame"]
    assert not [1 for a, b in itertools.product(places, boxes) if overlap(a, b)]
    assert not [1 for a, b in itertools.combinations(places, 2) if overlap(a, b)]
    for wire in scene.wires:
        x, y = curve_points(wire.curve, 1.0).T
        for left, top, right, bottom in places:
            assert not ((x > left + 1) & (x < right - 1) & (y > top + 1) & (y < bottom - 1)).any()


def test_points_start_and_end_with_the_curve_and_keep_their_distance():
    curve = (0.0, 0.0, 0.0, 40.0, 60.0, 40.0, 60.0, 90.0, 60.0, 100.0, 60.0, 110.0, 60.0, 130.0)
    points = curve_points(curve, 5.0)
    assert points[0].tolist() == [0.0, 0.0]
    assert points[-1].tolist() == [60.0, 130.0]
    gaps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    # The parameter runs evenly, the curve does not: up to half as far again.
    assert gaps.max() <= 7.5


def test_a_tensor_that_two_read_is_told_once():
    made = graph(
        [
            node(0, "AddBackward0", sequence=3, shape=(2, 2)),
            node(1, "SinBackward0", sequence=2, shape=(7, 3)),
            node(2, "CosBackward0", sequence=1, shape=(7, 3)),
            node(3, "ExpBackward0", sequence=0, shape=(9, 5)),
        ],
        [(0, 0, 1), (0, 1, 2), (1, 0, 3), (2, 0, 3)],
    )
    scene = build_scene(made)
    assert sorted(wire.label for wire in scene.wires) == ["7×3", "7×3", "9×5", "9×5"]
    assert sorted(at.text for at in place_words(scene).labels) == ["7×3", "7×3", "9×5"]


def fan(outputs):
    """One node whose outputs are read by one other each."""
    nodes = [node(i, "SinBackward0", sequence=outputs - i) for i in range(outputs)]
    parted = node(outputs, "UnbindBackward0", sequence=0)
    nodes.append(msgspec.structs.replace(parted, inputs=parted.inputs * outputs))
    edges = tuple(Edge(i, 0, outputs, i) for i in range(outputs))
    return Graph.of(
        nodes=tuple(nodes), edges=edges, roots=graph(nodes, [], [(f"y{i}", i) for i in range(outputs)]).roots
    )


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("outputs", [3, 8])
def test_output_numbers_stand_apart_beside_their_own_wires(outputs, direction):
    scene = build_scene(fan(outputs), GraphView(direction=direction))
    numbers = place_words(scene).numbers
    assert [at.text for at in numbers] == [wire.outputs for wire in scene.wires if wire.outputs]
    assert len(numbers) == outputs - 1
    places = [(at.x, at.y, at.x + at.width, at.y + HEIGHT) for at in numbers]
    boxes = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in scene.boxes]
    assert not [1 for a, b in itertools.combinations(places, 2) if overlap(a, b)]
    assert not [1 for a, b in itertools.product(places, boxes) if overlap(a, b)]
    for (left, top, right, bottom), wire in zip(places, [w for w in scene.wires if w.outputs], strict=True):
        x, y = curve_points(wire.curve, 1.0).T
        assert np.hypot(x - np.clip(x, left, right), y - np.clip(y, top, bottom)).min() < 6


def test_a_dtype_stands_along_a_wire_where_it_is_not_the_usual_one():
    names = ("AddBackward0", "MulBackward0", "ToCopyBackward0", "SinBackward0")
    nodes = [node(i, name, sequence=3 - i, shape=(2, 3)) for i, name in enumerate(names)]
    nodes[2] = msgspec.structs.replace(nodes[2], inputs=(TensorMetadata((2, 3), "bfloat16", "cpu"),))
    scene = build_scene(graph(nodes, [(0, 0, 1), (1, 0, 2), (2, 0, 3)]))
    said = {scene.boxes[wire.source].title: wire.label for wire in scene.wires}
    assert said == {"Sin": "2×3", "ToCopy": "2×3 bfloat16", "Mul": "2×3"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_show_in_the_svg(theme):
    scene = build_scene(linear_relu())
    boxes = [
        msgspec.structs.replace(box, mark=mark, changes=("saves 1 KiB → 2 KiB",) if mark == "changed" else ())
        for box, mark in zip(scene.boxes, ("changed", "removed", "added"), strict=True)
    ]
    wires = [msgspec.structs.replace(wire, mark="removed") for wire in scene.wires]
    text = scene_svg(msgspec.structs.replace(scene, boxes=tuple(boxes), wires=tuple(wires)), theme)
    ET.fromstring(text)
    for mark in ("changed", "removed", "added"):
        assert meaning(mark).accent(theme) in text
    assert text.count("stroke-dasharray") == 1 + len(wires)
    assert "saves 1 KiB → 2 KiB" in text


def test_names_that_turn_the_direction_do_not_in_the_svg():
    made = graph([node(0, "\u202etxt.exe\u202cBackward0", sequence=0)], [])
    root = ET.fromstring(scene_svg(build_scene(made)))
    words = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("txt.exe" in word for word in words)
    assert not any(sign in word for word in words for sign in "\u202e\u202c")
