"""Colours by device, saved bytes and gradient norm: right box, right step, right words."""

from __future__ import annotations

import math

import msgspec
import pytest

from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from engine.graph.spec import TensorMetadata
from tests.figures.graphs import graph, leaf, linear_relu, node, saved


def entry(scene, address):
    """The legend's entry of a box."""
    box = next(box for box in scene.boxes if box.address == address)
    return scene.colours[box.colour]


def three_parameters():
    """loss <- Add(a) <- Mul(b) <- Exp(c): one leaf a box."""
    return graph(
        [
            node(0, "AddBackward0", sequence=2),
            node(1, "MulBackward0", sequence=1),
            node(2, "ExpBackward0", sequence=0),
            leaf(3, "a"),
            leaf(4, "b"),
            leaf(5, "c"),
        ],
        [(0, 0, 1), (1, 0, 2), (0, 1, 3), (1, 1, 4), (2, 0, 5)],
    )


ADD, MUL, EXP = "/AddBackward0#0", "/MulBackward0#0", "/ExpBackward0#0"


def by_norm(**gradients):
    return build_scene(three_parameters(), GraphView(colour_by="gradient norm"), gradients=gradients)


def test_a_box_has_the_norm_over_all_its_leaves():
    scene = build_scene(linear_relu(), GraphView(), gradients={"lin.weight": 3.0, "lin.bias": 4.0})
    norms = {box.address: box.gradient_norm for box in scene.boxes}
    assert norms == {"lin/AddmmBackward0#0": 5.0, "act/ReluBackward0#0": None, "/SumBackward0#0": None}


def test_a_leaf_used_twice_counts_once():
    made = graph(
        [node(0, "AddBackward0", "m", sequence=1), node(1, "MulBackward0", "m", sequence=0), leaf(2, "w", "m")],
        [(0, 0, 1), (0, 1, 2), (1, 0, 2)],
    )
    scene = build_scene(made, GraphView(expanded=()), gradients={"w": 2.0})
    assert [box.gradient_norm for box in scene.boxes] == [2.0]


def test_norms_are_a_logarithmic_scale_with_every_step_in_the_legend():
    scene = by_norm(a=1e-4, b=1e-2, c=10.0)
    steps = [scene.colours[i] for i in scene.legend if scene.colours[i].scale]
    assert [step.key for step in steps] == ["norm1", "norm2", "norm3", "norm4", "norm5"]
    # From 1e-4 to 10 are five decades: one for each step.
    assert [step.stop for step in steps] == ["0.00100", "0.0100", "0.100", "1.00", "10.0"]
    assert entry(scene, ADD).key == "norm1"
    assert entry(scene, EXP).key == "norm5"
    assert entry(scene, MUL).key in ("norm2", "norm3")


@pytest.mark.parametrize(
    ("norm", "key"), [(0.0, "zero_gradient"), (math.inf, "non_finite"), (math.nan, "non_finite"), (None, "no_gradient")]
)
def test_norms_that_are_no_size_have_a_meaning_of_their_own(norm, key):
    scene = by_norm(a=norm, b=1.0, c=2.0)
    assert entry(scene, ADD).key == key
    assert key in {scene.colours[i].key for i in scene.legend}


def test_a_box_without_a_leaf_is_not_one_whose_leaf_got_no_gradient():
    scene = build_scene(linear_relu(), GraphView(colour_by="gradient norm"), gradients={"lin.bias": None})
    assert entry(scene, "lin/AddmmBackward0#0").key == "no_gradient"
    assert entry(scene, "act/ReluBackward0#0").key == "no_leaf"
    assert {"no_gradient", "no_leaf"} <= {scene.colours[i].key for i in scene.legend}


def in_modules(count):
    """A chain of one operation in each of `count` modules."""
    nodes = [node(i, "ExpBackward0", f"m{i}", sequence=count - i) for i in range(count)]
    return build_scene(
        graph(nodes, [(i, 0, i + 1) for i in range(count - 1)]), GraphView(colour_by="module", maximum_boxes=500)
    )


def test_every_name_looks_different_until_colours_and_marks_have_all_been_paired():
    scene = in_modules(64)
    found = {
        (scene.colours[box.colour].light, scene.colours[box.colour].mark) for box in scene.boxes if box.role == "node"
    }
    assert len(found) == len([box for box in scene.boxes if box.role == "node"]) > 16


@pytest.mark.parametrize(("count", "more"), [(16, None), (17, "and 1 more"), (30, "and 14 more")])
def test_names_that_the_legend_does_not_list_are_counted(count, more):
    scene = in_modules(count)
    listed = [scene.colours[i] for i in scene.legend]
    assert sum(colour.key.startswith("word") for colour in listed) == 16
    assert [colour.label for colour in listed if colour.key == "more"] == ([more] if more else [])


def test_one_norm_is_one_step_and_none_is_no_scale():
    assert [c.stop for c in map(by_norm(a=0.5).colours.__getitem__, by_norm(a=0.5).legend) if c.scale] == ["0.500"]
    scene = by_norm()
    assert {scene.colours[i].key for i in scene.legend} >= {"no_gradient"}
    assert not [i for i in scene.legend if scene.colours[i].scale]


def test_nan_beside_infinity_stays_nan():
    scene = build_scene(linear_relu(), GraphView(), gradients={"lin.weight": math.inf, "lin.bias": math.nan})
    assert math.isnan(scene.boxes[0].gradient_norm)


def test_devices_are_names():
    moved = msgspec.structs.replace(
        node(1, "ReluBackward0", "act", sequence=1), inputs=(TensorMetadata((4, 8), "float32", "cuda:0"),)
    )
    made = graph(
        [node(0, "SumBackward0", sequence=2), moved, node(2, "ExpBackward0", "lin", sequence=0)], [(0, 0, 1), (1, 0, 2)]
    )
    scene = build_scene(made, GraphView(colour_by="device"))
    assert entry(scene, "act/ReluBackward0#0").label == "cuda:0"
    assert entry(scene, "lin/ExpBackward0#0").label == "cpu"


def test_bytes_are_a_scale_and_nothing_saved_stands_beside_it():
    made = graph(
        [
            node(0, "AddBackward0", sequence=2),
            node(1, "MulBackward0", sequence=1, slots=[saved(0, 1024)]),
            node(2, "ExpBackward0", sequence=0, slots=[saved(1, 1024 * 1024)]),
        ],
        [(0, 0, 1), (1, 0, 2)],
    )
    scene = build_scene(made, GraphView(colour_by="saved bytes"))
    steps = [scene.colours[i].stop for i in scene.legend if scene.colours[i].scale]
    assert steps == ["4.00 KiB", "16.0 KiB", "64.0 KiB", "256 KiB", "1.00 MiB"]
    assert [entry(scene, a).key for a in (ADD, MUL, EXP)] == ["bytes0", "bytes1", "bytes5"]
