"""Checkpoints: which forward runs again, when, and what a reentrant one runs inside."""

from __future__ import annotations

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from engine.models.spec import LinearStack, Mlp, ModelSpec
from engine.replay import inner_nodes, record_backward
from tests.replay.recording import plain_gradients, replayed

FOUR = Mlp(layers=4, depth=4, width=8, in_features=8)


def recomputed(replay):
    return [step for step in replay.steps if step.kind == "recompute"]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_every_block_runs_again_just_before_its_own_backward_last_first(use_reentrant):
    model = ModelSpec(architecture=FOUR, checkpoint="each_block", use_reentrant=use_reentrant, input_requires_grad=True)
    replay = replayed(model)
    assert [step.module for step in recomputed(replay)] == ["layers.3", "layers.2", "layers.1", "layers.0"]
    for step in recomputed(replay):
        asked = replay.steps[step.inside]
        assert asked.name == "CheckpointFunctionBackward" if use_reentrant else asked.module.startswith(step.module)
        assert 1 <= step.operations <= 4
        assert 0 < step.duration_s <= asked.duration_s
        later = [one.module for one in replay.steps[: step.number] if one.kind != "recompute" and one.node is not None]
        assert sum(module.startswith(step.module) for module in later) <= (0 if use_reentrant else 2)


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_checkpoint_changes_no_gradient(use_reentrant, create_graph):
    model = ModelSpec(architecture=FOUR, checkpoint="segments", use_reentrant=use_reentrant, input_requires_grad=True)
    replay = replayed(model, create_graph=create_graph)
    assert all(one.is_exact for one in replay.accumulations)
    told = {one.leaf: one.after for one in replay.accumulations}
    for name, grad in plain_gradients(ModelSpec(architecture=FOUR, input_requires_grad=True)).items():
        assert replay.gradients[told[name]].norm == pytest.approx(grad.double().norm().item(), rel=1e-6)


def test_a_segment_is_told_block_by_block():
    model = ModelSpec(architecture=LinearStack(layers=6, width=8), checkpoint="segments", checkpoint_segments=2)
    assert [step.module for step in recomputed(replayed(model))] == ["blocks.0", "blocks.1", "blocks.2"]


def test_without_a_checkpoint_nothing_runs_again():
    assert recomputed(replayed(FOUR)) == []
    assert recomputed(replayed(FOUR, create_graph=True)) == []


def test_the_engine_inside_a_reentrant_checkpoint_is_told_step_by_step():
    model = ModelSpec(architecture=FOUR, checkpoint="each_block", use_reentrant=True, input_requires_grad=True)
    replay = replayed(model)
    outer = [step for step in replay.steps if step.name == "CheckpointFunctionBackward"]
    for step in outer:
        inside = [one for one in replay.steps if one.inside == step.number and one.kind != "recompute"]
        assert {one.node for one in inside} == {None}
        assert [one.name for one in inside if one.kind == "node"][-3:] == [
            "ReluBackward0",
            "AddmmBackward0",
            "TBackward0",
        ]
        assert {one.module.rpartition(".linear")[0] or one.module for one in inside if one.kind == "node"} <= {
            f"layers.{number}" for number in range(4)
        }
    leaves = {one.leaf for one in replay.accumulations}
    assert "layers.0.linear.weight" in leaves
    assert "input of a checkpoint" in leaves


def test_a_function_that_is_no_module_is_told_too():
    x = torch.randn(3, requires_grad=True)
    replay = record_backward(checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum())
    (step,) = recomputed(replay)
    assert (step.name, step.module, step.operations) == ("function", "", 2)
    assert torch.allclose(x.grad, x.detach().cos() * x.detach().sin().exp())


class DoublesInside(torch.autograd.Function):
    """Its backward differentiates 2 x with an engine of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            (found,) = torch.autograd.grad((x * 2).sum(), x)
        return gradient * found


def test_a_custom_function_with_an_engine_of_its_own_shows_it():
    x = torch.ones(2, requires_grad=True)
    replay = record_backward(DoublesInside.apply(x).sum())
    assert [(step.kind, step.name, step.inside) for step in replay.steps] == [
        ("node", "SumBackward0", None),
        ("node", "DoublesInsideBackward", None),
        ("recompute", "function", 1),
        ("node", "SumBackward0", 1),
        ("node", "MulBackward0", 1),
        ("accumulate", "torch::autograd::AccumulateGrad", None),
    ]
    assert x.grad.tolist() == [2.0, 2.0]


def test_too_many_nodes_inside_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(inner_nodes, "MOST_NODES", 5)
    model = ModelSpec(architecture=FOUR, checkpoint="each_block", use_reentrant=True, input_requires_grad=True)
    replay = replayed(model)
    assert sum(step.inside is not None and step.kind == "node" for step in replay.steps) <= 5
    assert "reentrant checkpoints" in replay.notes[0]
    assert replay.passes[0].error is None
