"""Hooks that look at a gradient or change it on its way, against the same change made by hand."""

from __future__ import annotations

import pytest
import torch

from engine.models.build import build
from engine.models.spec import Gpt, Mlp, ModelSpec, ResNet
from engine.replay import record_backward
from engine.replay.spec import GradientHook
from engine.runner.faults import Fault
from tests.replay.recording import accumulation, replayed, values

MODEL = ModelSpec(architecture=Mlp(layers=2, depth=2, width=4, in_features=4), input_requires_grad=True)
CHANGES = {
    "scale": lambda gradient: gradient * 0.25,
    "clip by value": lambda gradient: gradient.clamp(-0.25, 0.25),
    "zero": lambda gradient: gradient * 0,
    "replace by ones": lambda gradient: torch.ones_like(gradient),
    "returns nan": lambda gradient: gradient * torch.nan,
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("at", ["layers.1.linear.weight", "x", ""])
def test_a_leafs_hook_changes_what_accumulates(kind, at):
    name = at or "x"
    replay, plain = replayed(MODEL, hook=GradientHook(kind=kind, at=at, amount=0.25)), replayed(MODEL)
    before = torch.tensor(values(plain.gradients[accumulation(plain, name).after]))
    summed = accumulation(replay, name)
    assert torch.equal(
        torch.tensor(values(replay.gradients[summed.after])).nan_to_num(99.0), CHANGES[kind](before).nan_to_num(99.0)
    )
    assert summed.is_exact is None
    hook, after = replay.hook_calls
    assert (hook.kind, hook.at, hook.step, hook.grad_was_none, hook.changed) == (
        "tensor hook",
        name,
        summed.step,
        True,
        True,
    )
    assert values(replay.gradients[hook.received]) == before.tolist()
    assert (after.kind, after.received, after.grad_was_none) == ("post accumulate hook", summed.after, False)


@pytest.mark.parametrize("side", ["outputs", "inputs"])
@pytest.mark.parametrize("kind", CHANGES)
def test_a_modules_hook_changes_what_flows_on(kind, side):
    """Against the same backward cut in two at the module's edge, the gradient changed between."""
    replay = replayed(MODEL, hook=GradientHook(kind=kind, at="layers.1", side=side, amount=0.25))
    assert replay.graph.node_names.count("BackwardHookFunctionBackward") == 2
    (call,) = replay.hook_calls
    assert (call.kind, call.at, call.changed) == ("module hook", "layers.1", True)
    built = build(MODEL)
    before = built.model.layers[1 if side == "outputs" else 0]
    before.register_forward_hook(lambda module, inputs, output: output.register_hook(CHANGES[kind]) and None)
    built.loss(built.forward()).backward()
    for name, parameter in built.model.named_parameters():
        found = torch.tensor(values(replay.gradients[accumulation(replay, name).after]))
        assert torch.equal(found.nan_to_num(99.0), parameter.grad.double().nan_to_num(99.0)), name


def test_a_hook_that_only_looks_changes_nothing():
    for at in ("layers.1.linear.weight", "layers.1"):
        replay, plain = replayed(MODEL, hook=GradientHook(kind="observe", at=at)), replayed(MODEL)
        assert [one.after is not None and replay.gradients[one.after] for one in replay.accumulations] == [
            one.after is not None and plain.gradients[one.after] for one in plain.accumulations
        ]
        assert all(one.is_exact for one in replay.accumulations)
        assert not any(call.changed for call in replay.hook_calls)
        assert replay.hook_calls


def test_over_several_passes_the_hook_sees_each_and_grad_is_there_from_the_second_on():
    replay = replayed(MODEL, hook=GradientHook(kind="observe", at="head.bias"), passes=3, new_forward=True)
    seen = [call.grad_was_none for call in replay.hook_calls if call.kind == "tensor hook"]
    assert seen == [True, False, False]


def test_pytorch_says_why_an_input_can_have_no_hook():
    replay = replayed(ModelSpec(architecture=Gpt(layers=1, heads=2, width=8)), hook=GradientHook(kind="zero"))
    assert replay.notes == ("No hook on ids: cannot register a hook on a tensor that doesn't require gradient.",)
    assert replay.passes[0].error is None


def test_a_module_that_is_never_called_says_so():
    model = ModelSpec(architecture=ResNet(image_size=32, classes=2), batch=1, train=False)
    replay = replayed(model, hook=GradientHook(kind="scale", at="layer1"))
    assert "never ran" in replay.notes[0]


def test_an_unknown_name_is_refused_with_names_to_choose_from():
    with pytest.raises(
        Fault, match=r"GradientHook\.at must name a parameter.*received 'nowhere'.*layers.0.linear.weight"
    ):
        replayed(MODEL, hook=GradientHook(kind="zero", at="nowhere"))
    for text in ("a b", "x]", "x" * 300, "a..b", '"'):
        with pytest.raises(ValueError, match=r"GradientHook\.at must be a dotted name"):
            GradientHook(kind="zero", at=text)


def test_a_hook_that_takes_grad_away_leaves_the_sum_untold():
    """An optimizer step in a post accumulate hook sets .grad to None."""
    weight = torch.ones(2, requires_grad=True)

    def step(leaf):
        leaf.grad = None

    weight.register_post_accumulate_grad_hook(step)
    (summed,) = record_backward((weight * 2).sum()).accumulations
    assert (summed.after, summed.is_exact) == (None, None)
