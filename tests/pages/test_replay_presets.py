"""What the questions of the replay page tell people to notice is what the engine does."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from engine import run
from engine.figures.arrays import array
from engine.figures.gradient_points import findings, module_points
from engine.figures.replay_words import Flow, flow_of
from engine.replay.spec import GradientHook, Replay, ReplaySpec
from pages.backward.replay_controls import CALL, HOOK, HOOK_PREFIX, PREFIX
from pages.backward.replay_numbers import key_numbers
from pages.backward.replay_presets import PRESETS

QUESTIONS = {preset.question: preset for preset in PRESETS}


def spec_of(question: str) -> ReplaySpec:
    preset = QUESTIONS[question]
    hook = GradientHook(**{name: preset.settings[f"{HOOK_PREFIX}.{name}"] for name in HOOK})
    call = {name: preset.settings[f"{PREFIX}.{name}"] for name in CALL}
    return ReplaySpec(model=preset.model, hook=hook, **call)


@cache
def replayed(question: str) -> Replay:
    return run(spec_of(question), inline=True)


def names(replay: Replay) -> list[str]:
    return [step.name for step in replay.steps]


def after(replay: Replay, leaf: str):
    """`.grad` of a leaf after the last call."""
    one = [found for found in replay.accumulations if found.leaf == leaf][-1]
    return replay.gradients[one.after]


def test_every_question_is_one_and_sets_every_control():
    assert len(PRESETS) >= 8
    keys = {f"{PREFIX}.{name}" for name in CALL} | {f"{HOOK_PREFIX}.{name}" for name in HOOK}
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert preset.settings.keys() == keys


def test_nodes_run_by_descending_number_and_leaves_as_soon_as_they_can():
    replay = replayed("In which order does backward() run the nodes?")
    numbers = [int(replay.graph.node_sequence_nrs[step.node]) for step in replay.steps if step.kind == "node"]
    assert numbers == sorted(numbers, reverse=True)
    for step in replay.steps:
        if step.kind == "accumulate":
            senders = [edge.source for edge in replay.graph.edges if edge.target == step.node]
            assert replay.steps[step.number - 1].node in senders
    adds = [step for step in replay.steps if step.name == "AddBackward0"]
    assert len(adds) == 2
    assert all(len(step.returned) == 2 and None not in step.returned for step in adds)


def test_a_shared_weight_is_accumulated_once_at_the_very_end():
    replay = replayed("Why is a shared weight's gradient a sum?")
    weight = [one for one in replay.accumulations if one.leaf.endswith("weight")]
    assert [len(one.contributions) for one in weight] == [6]
    assert weight[0].step == len(replay.steps) - 1
    assert weight[0].is_exact


def test_the_second_backward_fails_at_the_first_node_that_saved_something():
    replay = replayed("What does a second backward() say?")
    first, second = replay.passes
    assert first.error is None
    assert "backward through the graph a second time" in second.error.message
    again = replay.steps[second.first :]
    assert [step.name for step in again] == ["SumBackward0", "AddmmBackward0"]
    assert again[1].module == "head"
    assert [step.duration_s is None for step in again] == [False, True]
    assert not replay.graph.nodes[again[0].node].saved
    assert not [one for one in replay.accumulations if one.step >= second.first]


def test_a_second_call_doubles_every_gradient_exactly():
    replay = replayed("What do two backward() calls leave in .grad?")
    second = [one for one in replay.accumulations if replay.steps[one.step].pass_number == 1]
    assert len(second) == 4
    for one in second:
        before, now = replay.gradients[one.before], replay.gradients[one.after]
        assert now.norm == pytest.approx(2 * before.norm, rel=1e-12)
        if before.values is not None:
            assert (array(now.values) == 2 * array(before.values)).all()


def test_a_checkpointed_forward_runs_inside_of_the_node_that_needs_it():
    replay = replayed("Does checkpointing run the forward again, and when?")
    again = [step for step in replay.steps if step.kind == "recompute"]
    assert [step.module for step in again] == ["blocks.1", "blocks.0"]
    for step in again:
        asking = replay.steps[step.inside]
        assert asking.module.startswith(step.module)
        before = [one for one in replay.steps[: asking.number] if one.module.startswith(step.module)]
        unpacked = [one for one in before if one.node is not None and replay.graph.nodes[one.node].saved]
        assert unpacked == []
    last_block_ends = max(step.number for step in replay.steps if step.module.startswith("blocks.1"))
    assert again[1].number > last_block_ends


def test_gradients_vanish_without_a_residual_and_not_with_one():
    question = "Where do gradients vanish?"
    deep = msgspec.structs.replace(spec_of(question).model.architecture, residual=True)
    model = msgspec.structs.replace(spec_of(question).model, architecture=deep)
    with_it = run(ReplaySpec(model=model), inline=True)
    points = module_points(replayed(question))
    assert points[-1].norm > 1000 * points[0].norm
    said = " ".join(findings(points))
    assert "vanishes" in said
    assert any(point.is_dead for point in points[len(points) // 3 : 2 * len(points) // 3])
    assert not [sentence for sentence in findings(module_points(with_it)) if "vanishes" in sentence]


def test_a_hook_that_returns_zeros_leaves_zeros_and_no_none():
    replay = replayed("What does a hook on the way change?")
    got = {leaf.name: leaf.grad_norm for leaf in replay.leaves if leaf.kind == "parameter"}
    assert None not in got.values()
    zero = {name for name, norm in got.items() if norm == 0}
    assert zero == {name for name in got if name.startswith(("layers.0", "layers.1"))}
    assert {name for name in got if name not in zero} == {name for name in got if name.startswith(("head", "layers.2"))}


def test_a_tensor_hook_of_a_tied_weight_fires_once_with_the_sum():
    """pytorch/pytorch#8023."""
    replay = replayed("When does a tensor hook fire for a tied weight?")
    before = [call for call in replay.hook_calls if call.kind == "tensor hook"]
    later = [call for call in replay.hook_calls if call.kind == "post accumulate hook"]
    assert [call.grad_was_none for call in before] == [True]
    assert [call.grad_was_none for call in later] == [False]
    assert replay.gradients[before[0].received] == after(replay, "step.linear.weight")


def test_an_unused_output_gets_none_and_its_rows_zeros():
    replay = replayed("Which gradient does an output nobody used get?")
    unbind = next(step for step in replay.steps if step.name == "UnbindBackward0")
    assert [gradient is None for gradient in unbind.received] == [False, True, False]
    rows = array(after(replay, "m").values)
    assert (rows[1] == 0).all()
    assert (rows[[0, 2]] != 0).all()


def test_the_nan_is_made_by_the_root_out_of_an_exact_zero():
    replay = replayed("Where does this NaN come from?")
    made = next(step for step in replay.steps if step.name == "SqrtBackward0")
    came, left = (replay.gradients[one[0]] for one in (made.received, made.returned))
    assert flow_of(came) is Flow.FINITE
    assert came.zeros
    assert left.nans
    before = [replay.gradients[at] for step in replay.steps[: made.number] for at in step.returned if at is not None]
    assert not any(one.non_finite for one in before)
    assert after(replay, "x").nans


def test_key_numbers_are_those_of_the_recording():
    replay = replayed("Where does this NaN come from?")
    numbers = {number.label: number.value for number in key_numbers(replay)}
    assert numbers["Steps"] == len(replay.steps) == 4
    assert numbers["Not finite"] == 1
    assert numbers["With .grad"] == 1
