"""The track of a replay against the replay itself: nothing is lost, moved or rescaled on the way to the canvas."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.index import index_of
from engine.figures.palette import SEQUENTIAL
from engine.figures.payload import unpack
from engine.figures.replay_scene import with_scale
from engine.figures.replay_track import KINDS, replay_track, shades
from engine.figures.replay_words import Flow, combined
from engine.figures.scene import draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.replay.spec import Step
from tests.figures.graphs import linear_relu, random_graphs, tied_loop
from tests.figures.replays import played, summary


def column(track, name):
    array = track.columns[name]
    return np.frombuffer(array.data, np.dtype(array.dtype).newbyteorder("<")).tolist()


def told(track, name):
    return [track.tables[name][code] for code in column(track, f"step_{name}")]


@settings(max_examples=40)
@given(random_graphs(25), st.integers(1, 3))
def test_every_step_is_there_in_the_engines_order(made, passes):
    replay = played(made, passes=passes)
    track = replay_track(replay)
    assert column(track, "step_place") == [step.node for step in replay.steps]
    assert column(track, "step_pass") == [step.pass_number for step in replay.steps]
    assert [KINDS[code] for code in column(track, "step_kind")] == [step.kind for step in replay.steps]
    assert told(track, "name") == [step.name for step in replay.steps]
    assert told(track, "module") == [step.module for step in replay.steps]
    assert [one[:3] for one in track.passes] == [(one.number, one.first, one.last) for one in replay.passes]


@settings(max_examples=40)
@given(random_graphs(25), st.randoms())
def test_every_edge_carries_the_gradient_that_its_step_returned(made, dice):
    values = {}
    replay = played(made, lambda node, slot: values.setdefault((node, slot), dice.choice((0.0, 1e-300, 0.3, 7e9))))
    track = replay_track(replay)
    leading = [edge for edge in made.edges if edge.target is not None]
    starts, numbers, norms = (column(track, name) for name in ("step_flows", "flow_edge", "flow_norm"))
    assert starts[-1] == len(numbers)
    for step in replay.steps:
        sent = {(edge.source, edge.output_nr) for edge in leading if edge.source == step.node}
        flows = range(starts[step.number], starts[step.number + 1])
        assert {(leading[numbers[flow]].source, leading[numbers[flow]].output_nr) for flow in flows} == sent
        for flow in flows:
            edge = leading[numbers[flow]]
            assert norms[flow] == replay.gradients[step.returned[edge.output_nr]].norm


@pytest.mark.parametrize(
    ("value", "flow"), [(0.0, Flow.ZERO), (2.0, Flow.FINITE), (math.nan, Flow.NON_FINITE), (-math.inf, Flow.NON_FINITE)]
)
def test_zero_and_non_finite_are_told_apart(value, flow):
    track = replay_track(played(linear_relu(), lambda node, slot: value))
    assert set(column(track, "flow_state")) == {int(flow)}
    assert track.states == (int(flow),)


def test_an_undefined_gradient_is_nothing_and_not_zero():
    replay = played(linear_relu())
    step = msgspec.structs.replace(replay.steps[0], returned=(None,))
    track = replay_track(msgspec.structs.replace(replay, steps=(step, *replay.steps[1:])))
    assert column(track, "flow_state")[0] == int(Flow.NOTHING)


def test_several_gradients_together_have_the_norm_of_all_their_elements():
    replay = played(tied_loop(3), lambda node, slot: (3.0, 4.0)[slot])
    returned = next(step.returned for step in replay.steps if len(step.returned) == 2)
    state, norm = combined(replay, returned)
    assert (state, norm) == (Flow.FINITE, 5.0)


def test_a_step_that_raised_sent_nothing_along_its_edges():
    replay = played(linear_relu())
    last = msgspec.structs.replace(replay.steps[1], duration_s=None)
    track = replay_track(msgspec.structs.replace(replay, steps=(replay.steps[0], last)))
    assert column(track, "step_flows") == [0, 1, 1]
    assert math.isnan(column(track, "step_took")[1])
    assert "raised" in told(track, "note")[1]


def test_a_recomputation_lights_the_node_that_asked_for_it():
    replay = played(linear_relu())
    again = Step(0, 0, "recompute", None, "Linear", "lin", 0, 0.0, 1e-6, (), ())
    moved = tuple(msgspec.structs.replace(step, number=step.number + 1) for step in replay.steps)
    one = msgspec.structs.replace(replay.passes[0], last=len(moved) + 1)
    track = replay_track(msgspec.structs.replace(replay, steps=(again, *moved), passes=(one,)))
    first_of_lin = next(step.node for step in replay.steps if step.module == "lin")
    assert column(track, "step_place")[0] == first_of_lin
    assert track.recomputes
    assert "again" in told(track, "note")[0]


def test_accumulation_is_told_with_its_uses_and_norms():
    replay = played(tied_loop(3), lambda node, slot: 2.0, passes=2)
    notes = [note for note in told(replay_track(replay), "note") if note]
    assert notes == [
        "became step.weight.grad, 3 uses, norm 6.00",
        "added to step.weight.grad, 3 uses, norm 6.00 → 12.0",
    ]
    spoilt = (*replay.gradients[:-1], summary([3.0, math.nan, math.inf]))
    last = [note for note in told(replay_track(msgspec.structs.replace(replay, gradients=spoilt)), "note") if note][-1]
    assert last == "added to step.weight.grad, 3 uses, norm 6.00 → 3.00, 2 of 3 not finite"


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=30))
def test_the_scale_covers_every_norm_in_steps_of_one_ratio(norms):
    scale = shades(norms)
    tops = [shade.top for shade in scale]
    assert tops[-1] == max(norms)
    assert tops == sorted(tops)
    assert len(scale) == (len(SEQUENTIAL) - 1 if max(norms) > min(norms) and len(tops) > 1 else 1)
    if len(tops) > 1:
        ratios = np.diff([math.log(min(norms)), *map(math.log, tops)])
        assert np.allclose(ratios, ratios[0], rtol=1e-6, atol=1e-9)


def test_the_scene_carries_the_track_and_its_scale():
    replay = played(linear_relu(), lambda node, slot: math.nan if node == 2 else 1.0 + node)
    view = GraphView()
    prepared = prepare(replay.graph, view)
    track = replay_track(replay, start=2)
    scene = with_scale(draw(prepared, view), track)
    content, columns = unpack(encode_scene(scene, index_of(replay.graph, prepared.folded, prepared.names), track))
    assert content["replay"]["start"] == 2
    assert content["replay"]["stamp"] == track.stamp
    assert columns["flow_norm"] == track.columns["flow_norm"].data
    shown = [content["colours"][number]["key"] for number in content["legend"]]
    assert shown[: len(track.scale)] == [f"flow{number}" for number in range(len(track.scale))]
    assert "non_finite" in shown


def test_a_picture_without_a_replay_is_as_small_as_before():
    made = linear_relu()
    prepared = prepare(made, GraphView())
    index = index_of(made, prepared.folded, prepared.names)
    content, columns = unpack(encode_scene(draw(prepared, GraphView()), index))
    assert "replay" not in content
    assert not [name for name in columns if name.startswith(("step_", "flow_"))]


def test_gradients_too_small_for_a_norm_still_have_a_shade():
    replay = played(linear_relu())
    tiny = tuple(msgspec.structs.replace(one, norm=0.0) for one in replay.gradients)
    track = replay_track(msgspec.structs.replace(replay, gradients=tiny))
    assert track.states == (int(Flow.FINITE),)
    assert [shade.top for shade in track.scale] == [0.0]


def test_a_track_of_no_steps_is_a_track():
    replay = played(linear_relu())
    empty = msgspec.structs.replace(replay, steps=(), gradients=(), accumulations=(), passes=())
    track = replay_track(empty)
    assert column(track, "step_flows") == [0]
    assert track.scale == ()
