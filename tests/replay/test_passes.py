"""Several backward passes, roots and seeds: what accumulates, what is refused, and what was never reached."""

from __future__ import annotations

import pytest
import torch

from engine.models.spec import Embedding, Expression, Gpt, Mlp, ModelSpec, TiedLoop, TwoTower
from engine.replay import record_backward
from engine.replay.spec import ReplaySpec
from tests.replay.recording import accumulation, names, plain_gradients, received, replayed, values

SMALL = Mlp(layers=2, depth=2, width=4, in_features=4)
SMALL_GPT = Gpt(layers=2, heads=2, width=8, sequence=4, vocabulary=10)
SPARSE = Embedding(vocabulary=20, width=8, tokens=6, sparse=True)


@pytest.mark.parametrize("how", [{"retain_graph": True}, {"new_forward": True}, {"create_graph": True}], ids=str)
@pytest.mark.parametrize(
    "architecture", [SMALL, SMALL_GPT, SPARSE, TiedLoop(steps=3, width=4)], ids=lambda a: type(a).__name__
)
def test_every_pass_adds_to_grad(architecture, how):
    """The same gradient arrives again: after n passes .grad is what n plain backward passes leave."""
    replay = replayed(architecture, passes=3, **how)
    assert [one.error for one in replay.passes] == [None] * 3
    assert all(one.is_exact for one in replay.accumulations)
    assert {step.node for step in replay.steps} == set(range(len(replay.graph.nodes)))
    for first, second in zip(replay.passes, replay.passes[1:], strict=False):
        assert first.last == second.first
    by_leaf = {}
    for one in replay.accumulations:
        assert one.before == by_leaf.get(one.leaf)
        by_leaf[one.leaf] = one.after
    expected = plain_gradients(ModelSpec(architecture=architecture), passes=3)
    for name, after in by_leaf.items():
        assert replay.gradients[after].norm == pytest.approx(expected[name].to_dense().double().norm().item(), rel=1e-6)


def test_a_second_pass_over_freed_buffers_is_refused_and_the_first_stays():
    replay = replayed(SMALL, passes=2)
    first, second = replay.passes
    assert (first.error, second.error.type) == (None, "RuntimeError")
    assert "Specify retain_graph=True" in second.error.message
    assert replay.steps[-1].duration_s is None
    assert replay.steps[-1].pass_number == 1
    assert len(replay.accumulations) == 6


def test_create_graph_says_what_pytorch_warns_of():
    for _ in range(2):  # PyTorch itself says it once per process
        (said,) = replayed(SMALL, create_graph=True).warnings
        assert "Using backward() with create_graph=True will create a reference cycle" in said


def test_a_later_forward_with_another_graph_is_told_without_nodes():
    """Dropout draws the same mask, so only a model that changes by itself does this: here one that counts its calls."""
    from unittest import mock

    from engine.models import build as models

    original = models.Built.forward
    calls = []

    def forward(self):
        calls.append(1)
        out = original(self)
        return out if len(calls) == 1 else out * 2

    with mock.patch.object(models.Built, "forward", forward):
        replay = replayed(SMALL, passes=2, new_forward=True)
    assert {step.node is None for step in replay.steps if step.pass_number == 1} == {True}
    assert "another graph" in replay.notes[0]
    assert accumulation(replay, "head.bias", 1).is_exact


@pytest.mark.parametrize(
    ("grad_outputs", "seed"), [("default", 1.0), ("ones", 1.0), ("zeros", 0.0), ("minus ones", -1.0)]
)
def test_the_seed_is_what_the_root_receives(grad_outputs, seed):
    replay = replayed(SMALL, grad_outputs=grad_outputs)
    assert received(replay, replay.steps[0]) == [seed]
    whole = replayed(SMALL)
    for one, other in zip(replay.accumulations, whole.accumulations, strict=True):
        assert replay.gradients[one.after].norm == pytest.approx(abs(seed) * whole.gradients[other.after].norm)


def test_random_seeds_are_the_models_and_differ_from_ones():
    one, again = (replayed(SMALL, roots="outputs", grad_outputs="random") for _ in range(2))
    other = replayed(ModelSpec(architecture=SMALL, seed=1), roots="outputs", grad_outputs="random")
    assert one.gradients == again.gradients
    seeds = [received(replay, replay.steps[0]) for replay in (one, other)]
    assert seeds[0] != seeds[1]


def test_outputs_need_a_gradient_given_and_leave_the_loss_out():
    refused = replayed(SMALL, roots="outputs")
    assert refused.passes[0].error.message == "grad can be implicitly created only for scalar outputs"
    assert len(refused.not_run) == len(refused.graph.nodes)
    replay = replayed(SMALL, roots="outputs", grad_outputs="ones")
    assert [replay.graph.nodes[number].name for number in replay.not_run] == ["SumBackward0"]
    from_loss = replayed(SMALL)
    for one, other in zip(replay.accumulations, from_loss.accumulations, strict=True):
        assert values(replay.gradients[one.after]) == values(from_loss.gradients[other.after])


def test_two_roots_add_where_they_meet():
    """Loss and outputs with ones: the outputs' node gets the sum of both, twice what the loss alone gives."""
    replay, alone = replayed(SMALL, roots="loss and outputs", grad_outputs="ones"), replayed(SMALL)
    for one, other in zip(replay.accumulations, alone.accumulations, strict=True):
        assert replay.gradients[one.after].norm == pytest.approx(2 * alone.gradients[other.after].norm)


def test_what_no_pass_reaches_is_named():
    replay = replayed(TwoTower(width=8))
    unused = {replay.graph.nodes[number].module for number in replay.not_run}
    assert unused
    assert all("auxiliary" in module or module == "" for module in unused)
    expression = replayed(Expression(name="unbind_iter"))
    unbind = next(step for step in expression.steps if step.name.startswith("Unbind"))
    assert [index is None for index in unbind.received] == [False, True, False]


def test_a_root_that_is_a_leaf_gives_its_seed():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    replay = record_backward([w, (w * 3).sum()], [torch.tensor([10.0, 20.0]), None])
    (summed,) = replay.accumulations
    assert w.grad.tolist() == [13.0, 23.0]
    assert summed.contributions == ((-1, 0), (1, 0))
    assert summed.is_exact


def test_times_leave_out_what_recording_takes():
    replay = replayed(SMALL_GPT)
    assert replay.plain_backward_s > 0
    begun = [step.begun_s for step in replay.steps]
    assert begun == sorted(begun)
    assert all(step.duration_s >= 0 for step in replay.steps)
    assert sum(step.duration_s for step in replay.steps) <= replay.passes[0].duration_s
    assert {step.thread for step in replay.steps} == {0}


def test_nonsense_is_refused_in_words():
    with pytest.raises(ValueError, match="received 6"):
        ReplaySpec(passes=6)
    assert names(replayed(SMALL))[0] == "SumBackward0"
