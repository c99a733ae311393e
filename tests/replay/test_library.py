"""record_backward in somebody's own program: nothing stays behind, nothing is kept alive, deep graphs die in peace."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import msgspec
import pytest
import torch
from torch import nn

from engine import run
from engine.models.spec import Chain, Gpt, Mlp, ModelSpec
from engine.replay import gradients, record_backward, recorder
from engine.replay.spec import Replay, ReplaySpec
from engine.replay.sums import added, same_bits
from tests.replay.recording import replayed, values


def test_the_graph_dies_with_its_last_owner():
    """A node that still held a hook of ours would hold the graph: what it saved tells whether it lives."""
    model = nn.Linear(3, 2)
    hidden = model(torch.ones(4, 3))
    loss = (hidden**2).sum()
    saved = weakref.ref(hidden)
    del hidden
    record_backward(loss, model=model, retain_graph=True)
    once = model.weight.grad.clone()
    loss.backward(retain_graph=True)
    assert saved() is not None
    assert torch.equal(model.weight.grad, 2 * once)
    del loss
    gc.collect()
    assert saved() is None


def test_no_hook_runs_in_a_later_backward():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    first = record_backward(loss, retain_graph=True)
    counted = len(first.steps)
    again = record_backward(loss, retain_graph=True)
    assert (len(first.steps), len(again.steps)) == (counted, counted)


def test_a_gradient_is_not_kept_alive():
    seen = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            returned = gradient * 2
            seen.append(weakref.ref(returned))
            return returned

    x = torch.ones(2, requires_grad=True)
    replay = record_backward(Watched.apply(x.exp()).sum())
    gc.collect()
    assert [reference() for reference in seen] == [None]
    assert values(replay.gradients[replay.steps[1].returned[0]]) == [2.0, 2.0]


def test_a_tensor_that_passes_several_nodes_is_one_gradient():
    """Add hands its gradient on as it is: to both sides, and further down."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    replay = record_backward(((a + b) + 1).sum())
    after_the_sum = replay.steps[0].returned[0]
    assert {index for step in replay.steps[1:] for index in (*step.received, *step.returned) if index is not None} == {
        after_the_sum
    }
    assert len(replay.gradients) == 2


def test_what_a_tensor_becomes_in_place_is_another_gradient():
    kept = gradients.Gradients()
    tensor = torch.ones(2)
    first = kept.index(tensor)
    assert kept.index(tensor) == first
    tensor.mul_(3)
    assert kept.index(tensor) != first
    assert values(kept.summaries[1]) == [3.0, 3.0]


def test_grad_outputs_by_structure():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    outputs = {"a": x * 2, "b": (x**2, x.sum())}
    replay = record_backward(outputs, {"a": torch.ones(2), "b": (torch.tensor([1.0, 0.0]), None)})
    assert x.grad.tolist() == [2.0 + 2.0 + 1.0, 2.0 + 1.0]
    assert [root.name for root in replay.graph.roots] == ["output['a']", "output['b'][0]", "output['b'][1]"]


def test_nothing_that_requires_grad_is_pytorchs_error():
    replay = record_backward(torch.ones(2).sum())
    assert "does not require grad" in replay.passes[0].error.message
    assert (replay.steps, len(replay.graph.nodes)) == ((), 0)


def test_modes_and_threads_are_left_as_they_were():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    record_backward(loss)  # raises inside
    calls = []

    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))

    with Counting():
        torch.ones(2) + 1
    assert len(calls) == 2
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_bits_tell_what_equality_does_not(dtype):
    one = torch.tensor([1.0, 0.0, float("nan")], dtype=dtype)
    assert same_bits(one, one.clone())
    assert not same_bits(one, torch.tensor([1.0, -0.0, float("nan")], dtype=dtype))
    assert not same_bits(one, one[:2])
    step = torch.finfo(dtype).eps
    assert not same_bits(one, one * (1 + step))
    assert torch.equal(added(one[:2], one[:2]), one[:2] * 2)


def test_a_result_has_bounds(monkeypatch):
    monkeypatch.setattr(gradients, "DETAIL_BYTES", 1000)
    replay = replayed(Mlp(), passes=2, retain_graph=True)
    kept = sum(one.values is not None or one.block_map is not None for one in replay.gradients)
    assert 0 < kept < len(replay.gradients)
    assert any(f"kept for {kept} of {len(replay.gradients)} gradients" in note for note in replay.notes)
    assert all(one.norm >= 0 for one in replay.gradients)


def test_beyond_the_last_step_backward_goes_on_unrecorded(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_GRADIENTS", 5)
    spec = ReplaySpec(model=ModelSpec(architecture=Mlp()), passes=3, new_forward=True)
    replay = run(spec, inline=True)
    assert len(replay.steps) <= 6
    assert len(replay.passes) == 3
    assert [one.error for one in replay.passes] == [None] * 3
    assert any("are not shown" in note for note in replay.notes)
    whole = run(msgspec.structs.replace(spec, passes=3), inline=True)
    assert [leaf.grad_norm for leaf in replay.leaves] == [leaf.grad_norm for leaf in whole.leaves]


def test_a_replay_travels_as_data():
    replay = replayed(Gpt(layers=1, heads=2, width=8, sequence=4, vocabulary=10))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(replay), type=Replay) == replay


DEEP = """
import torch
from engine.replay import record_backward
x = torch.ones(2, requires_grad=True)
y = x
for _ in range({length}):
    y = y * 1.0
replay = record_backward(y.sum())
print(len(replay.steps), x.grad.tolist(), replay.passes[0].error)
del y
print("freed")
"""


@pytest.mark.slow
def test_a_deep_graph_is_recorded_and_freed_without_recursion():
    """pytorch/pytorch#5534: a chain this long overflows the stack when it is freed node inside node."""
    length = 60_000
    done = subprocess.run(
        [sys.executable, "-c", DEEP.format(length=length)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [f"{length + 2} [1.0, 1.0] None", "freed"]


@pytest.mark.slow
def test_the_most_steps_there_can_be_fit_a_result():
    """From a worker; a row takes as many bytes in a chain of 10,000 as in the longest, values and maps are capped."""
    replay = run(ReplaySpec(model=ModelSpec(architecture=Chain(operations=10_000), batch=1)))
    assert len(replay.steps) == len(replay.graph.nodes) == len(replay.gradients) == 10_005
    detail_bytes = sum(len(one.values.data) for one in replay.gradients)
    a_step_bytes = (len(msgspec.msgpack.encode(replay)) - detail_bytes) / len(replay.steps)
    most = max(recorder.MOST_STEPS, recorder.MOST_GRADIENTS)
    assert most * a_step_bytes + gradients.DETAIL_BYTES < ReplaySpec.limits.result_bytes
