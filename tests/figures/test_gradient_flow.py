"""The gradient over depth: points against hand arithmetic, what is said of them, and the chart."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from engine.figures.gradient_flow import gradient_flow
from engine.figures.gradient_points import (
    OUTSIDE,
    Dead,
    FlowPoint,
    dead_units,
    findings,
    module_points,
    node_points,
    thinned,
)
from engine.figures.replay_words import Flow
from engine.replay.spec import Step
from tests.figures.graphs import HOSTILE, graph, linear_relu, node
from tests.figures.replays import played, summary


def layers(count: int):
    """`count` modules of one operation, the loss first and outside of modules."""
    nodes = [node(0, "SumBackward0", sequence=count)]
    nodes += [node(at, "AddmmBackward0", f"layers.{count - at}", sequence=count - at) for at in range(1, count + 1)]
    return graph(nodes, [(at, 0, at + 1) for at in range(count)])


def points_of(*norms: float) -> tuple[FlowPoint, ...]:
    """Of these norms from the input to the loss; 0 and nan stand for themselves."""
    states = [Flow.ZERO if norm == 0 else Flow.FINITE if math.isfinite(norm) else Flow.NON_FINITE for norm in norms]
    return tuple(
        FlowPoint(f"layers.{at}", 0.0 if math.isnan(norm) else norm, int(state), at)
        for at, (norm, state) in enumerate(zip(norms, states, strict=True))
    )


def test_points_stand_in_forward_order_with_what_each_module_received():
    replay = played(layers(4), lambda at, slot: 10.0**-at)
    points = module_points(replay)
    assert [point.place for point in points] == ["layers.0", "layers.1", "layers.2", "layers.3", OUTSIDE]
    assert [point.norm for point in points[:4]] == pytest.approx([1e-3, 1e-2, 1e-1, 1.0])
    assert [replay.steps[point.step].module for point in points[:4]] == ["layers.0", "layers.1", "layers.2", "layers.3"]


def test_a_module_of_several_nodes_is_told_by_the_gradient_of_its_output():
    points = module_points(played(linear_relu(), lambda at, slot: float(at + 1)))
    assert {point.place: point.norm for point in points if point.place != OUTSIDE} == {"lin": 2.0, "act": 1.0}
    by_node = node_points(played(linear_relu(), lambda at, slot: float(at + 1)))
    assert [point.place for point in by_node] == [
        "lin/TBackward0",
        "lin/AddmmBackward0",
        "act/ReluBackward0",
        "SumBackward0",
    ]


def test_only_the_steps_of_the_asked_pass_count():
    replay = played(layers(2), passes=2)
    assert {point.step < replay.passes[0].last for point in module_points(replay, 0)} == {True}
    assert {point.step < replay.passes[0].last for point in module_points(replay, 1)} == {False}


@pytest.mark.parametrize(
    ("norms", "word"),
    [((1e-3, 0.1, 1.0), "vanishes"), ((999.0, 10.0, 1.0), ""), ((1.0, 1.0, 1e-3), "explodes"), ((1.1e-3, 1.0), "")],
)
def test_vanishing_and_exploding_are_a_factor_of_1000_between_the_ends(norms, word):
    said = findings(points_of(*norms))
    assert len(said) == bool(word)
    assert all(word in sentence and "Rule" in sentence for sentence in said)


def test_zero_and_non_finite_are_told_from_the_loss_on():
    said = " ".join(findings(points_of(0.0, 0.0, math.nan, 1.0)))
    assert "First not finite at layers.2" in said
    assert "Exactly 0 from layers.1 on, at 2 of 4" in said


def relu_step(came: np.ndarray, left: np.ndarray):
    replay = played(linear_relu())
    gradients = tuple(summary(values.ravel().tolist(), values.shape) for values in (came, left))
    gradients = tuple(
        msgspec.structs.replace(one, values=msgspec.structs.replace(one.values, shape=one.shape)) for one in gradients
    )
    return (
        msgspec.structs.replace(replay, gradients=gradients),
        Step(0, 0, "node", 1, "ReluBackward0", "act", 0, 0.0, 1e-6, (0,), (1,)),
    )


def test_a_unit_is_dead_when_nothing_passes_for_any_example_though_something_came():
    came = np.ones((3, 4))
    came[:, 3] = 0  # nothing came here: nobody can say
    left = came.copy()
    left[:, 0] = 0  # dead
    left[:2, 1] = 0  # one example passes
    assert dead_units(*relu_step(came, left)) == Dead(1, 4)


def test_one_example_says_nothing_of_dead_units():
    assert dead_units(*relu_step(np.ones((1, 4)), np.zeros((1, 4)))) is None


def test_half_of_the_units_make_a_dead_relu():
    many = [
        msgspec.structs.replace(point, dead=Dead(dead, 10)) for point, dead in zip(points_of(1, 1), (5, 4), strict=True)
    ]
    said = findings(many)
    assert len(said) == 1
    assert "layers.0: 5 of 10 units dead" in said[0]
    assert "layers.1" not in said[0]


def test_thinned_points_keep_order_and_extremes():
    norms = [1.0 + (at * 7919 % 1009) for at in range(9000)]
    norms[4321], norms[77] = 1e9, 1e-9
    points = points_of(*norms)
    kept = thinned(points, 500)
    assert len(kept) <= 500
    assert [point.step for point in kept] == sorted(point.step for point in kept)
    assert {4321, 77} <= {point.step for point in kept}
    assert thinned(points[:400], 500) == points[:400]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chart_has_every_point_with_its_step_and_marks_what_is_on_no_log_axis(theme):
    points = points_of(0.0, 1e-3, math.nan, 1.0)
    chart = gradient_flow(points, theme, pinned=points_of(2.0, 2.0, 2.0, 2.0))
    names = [trace.name for trace in chart.data]
    assert names == ["A", "this run", "exactly 0", "non-finite"]
    line = chart.data[1]
    assert [None if y is None else float(y) for y in line.y] == [None, 1e-3, None, 1.0]
    assert [custom[0] for custom in line.customdata] == [0, 1, 2, 3]
    zero, bad = chart.data[2], chart.data[3]
    assert (list(zero.x), list(bad.x)) == ([0], [2])
    assert zero.y[0] < 1e-3 < 2.0 < bad.y[0]
    assert chart.layout.yaxis.type == "log"


@pytest.mark.parametrize("norms", [(), (0.0,), (math.nan,), (1e-310, 1e300), (1.0,) * 400])
def test_any_points_can_be_drawn(norms):
    chart = gradient_flow(points_of(*norms), "light")
    low, high = chart.layout.yaxis.range
    assert math.isfinite(low) < math.isfinite(high) + 1
    assert low < high
    assert len(chart.layout.xaxis.tickvals or ()) <= 30


def test_names_are_text_and_never_markup():
    points = [msgspec.structs.replace(point, place=HOSTILE[at]) for at, point in enumerate(points_of(*(1.0,) * 5))]
    chart = gradient_flow(points, "light")
    shown = [*chart.layout.xaxis.ticktext, *chart.data[0].text]
    assert not [text for text in shown if "<script" in text or "<img" in text]
