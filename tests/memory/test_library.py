"""record_memory and MemoryRecording around code that is not ours; another tool of PyTorch's agrees."""

from itertools import accumulate

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from engine.memory import record_memory
from engine.memory.events import NOTHING, Event, put_in_the_allocators_order
from engine.memory.experiment import record_model_memory
from engine.memory.record import MemoryRecording
from engine.memory.spec import MemorySpec
from engine.models.architecture import ConvNet, Gpt
from engine.models.build import build
from engine.models.spec import ModelSpec
from engine.optimizers import make_optimizer
from tests.memory.accounts import after


def rows(trace):
    return list(map(trace.blocks.__getitem__, range(len(trace.blocks))))


def test_phases_of_a_plain_training_step_are_seen_by_themselves():
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(4, 8)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    trace = record_memory(step, model, {"x": x}, optimizer, steps=2)
    assert trace.largest_difference_bytes == 0
    names = [one.name for one in trace.phases if one.step == 1]
    assert names == ["forward", "backward", "optimizer step", "end of step"]
    tanh = next(row for row in rows(trace) if "TanhBackward0.result" in row.holders)
    assert (tanh.category, tanh.module, tanh.operation) == ("saved", "1", "aten::tanh")
    assert tanh.source.text == "loss = model(x).square().mean()"
    assert set(tanh.holders) == {"TanhBackward0.result", "AddmmBackward0.mat1"}
    assert tanh.name == "TanhBackward0.result", "after the node that made it"
    gradients = {row.name for row in rows(trace) if row.category == "gradient"}
    assert gradients == {f"{name}.grad" for name, _ in model.named_parameters()}
    state = sum(row.bytes for row in rows(trace) if row.category == "optimizer_state")
    assert state == sum(value.nbytes for one in optimizer.state.values() for value in one.values())


def test_even_a_python_number_is_accounted_for():
    x = torch.ones(16, requires_grad=True)

    def step():
        (x * 2.0).sum().backward()

    trace = record_memory(step, inputs={"x": x})
    (number,) = [row for row in rows(trace) if row.category == "saved"]
    assert (number.bytes, number.name, number.shape) == (8, "MulBackward0.other (a Python number)", ())
    assert [row.name for row in rows(trace) if row.died < 0] == ["x.grad"]


def test_accumulating_gradients_shows_every_forward_and_backward():
    model, x = nn.Linear(8, 8), torch.randn(4, 8)

    def step():
        for _ in range(2):
            model(x).sum().backward()

    trace = record_memory(step, model, {"x": x})
    names = [one.name for one in trace.phases if one.first < one.after]
    assert names[:2] == ["forward", "backward"]
    assert [name for name in names if name != "end of step"] == ["forward", "backward"] * 2
    with pytest.raises(RuntimeError, match="of the step"):
        record_memory(lambda: (_ for _ in ()).throw(RuntimeError("an error of the step")), model)
    assert not model._forward_pre_hooks
    assert not torch._C._autograd._profiler_enabled()


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x * 2
        return x + 1

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.kept


def test_what_a_custom_function_puts_on_ctx_outlives_backward_and_says_so():
    x, kept = torch.ones(16, requires_grad=True), []

    def step():
        kept.append(Leaky.apply(x).sum())
        kept[-1].backward()
        return kept[-1]

    trace = record_memory(step, inputs={"x": x})
    (row,) = [row for row in rows(trace) if "LeakyBackward.kept" in row.holders]
    assert (row.bytes, row.died, row.category) == (64, -1, "saved")


def test_a_selective_checkpoint_keeps_what_its_policy_names():
    linear, x = nn.Linear(8, 8), torch.randn(4, 8, requires_grad=True)

    def policy(context, operation, *args, **kwargs):
        is_kept = operation is torch.ops.aten.addmm.default
        return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

    def block(x):
        return torch.tanh(torch.exp(linear(x)))

    def step():
        contexts = lambda: create_selective_checkpoint_contexts(policy)  # noqa: E731
        loss = checkpoint(block, x, use_reentrant=False, context_fn=contexts).sum()
        loss.backward()

    trace = record_memory(step, linear, {"x": x})
    kept = [row for row in rows(trace) if any("selective checkpoint" in one for one in row.holders)]
    assert [(row.category, row.operation, row.bytes) for row in kept] == [("saved", "aten::addmm", 128)]
    back = {row.operation for row in rows(trace) if row.category == "recomputed"}
    assert back == {"aten::exp", "aten::tanh"}


def test_nothing_is_kept_alive_and_addresses_used_again_are_told_apart():
    with MemoryRecording() as recording:
        recording.begin("forward", 1)
        for _ in range(5):
            x = torch.ones(1000)
            del x
    trace = recording.trace()
    assert [(row.bytes, row.died - row.born) for row in rows(trace)] == [(4000, 1)] * 5
    assert trace.largest_difference_bytes == 0


def test_blocks_of_an_earlier_recording_are_told_when_they_are_freed():
    with MemoryRecording() as first:
        first.begin("forward", 1)
        x = torch.ones(1000)
    with MemoryRecording() as second:
        second.begin("forward", 1)
        y = torch.ones(10)
        del x, y
    trace = second.trace()
    assert trace.largest_difference_bytes == 0
    assert {row.name for row in rows(trace)} >= {"allocated before the recording"}
    assert any("4000 bytes" in note for note in trace.notes)


def test_several_threads_are_accounted_for():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        spec = MemorySpec(model=ModelSpec(architecture=ConvNet(channels=8, image_size=16)), steps=2)
        assert record_model_memory(spec, lambda stage, fraction: None).largest_difference_bytes == 0
    finally:
        torch.set_num_threads(before)


def test_events_that_threads_noted_late_are_put_where_the_allocator_counted_them():
    sizes = [100, 50, -100, 8, -50, 16]
    totals = list(accumulate(sizes))
    events = [
        Event(time, 0, size, total, -1, NOTHING) for time, (size, total) in enumerate(zip(sizes, totals, strict=True))
    ]
    marked = [*events[:3], Event(3, 0, 0, 0, -1, NOTHING, "atlas look 0"), *events[3:]]
    late = [events[0], events[2], events[1], events[4], marked[3], events[3], events[5]]
    put_in_the_allocators_order(late)
    assert [one for one in late if not one.mark] == events
    assert sum(1 for one in late if one.mark) == 1


@pytest.mark.slow  # importing it takes seconds
@pytest.mark.parametrize("checkpointed", ["off", "each_block"])
def test_mem_tracker_finds_the_same_where_it_looks(checkpointed):
    """torch.distributed._tools.MemTracker sees tensors; it misses outputs nobody named and a kernel's working space."""
    from torch.distributed._tools.mem_tracker import MemTracker

    architecture = Gpt(layers=2, width=16, sequence=8, vocabulary=32)
    model = ModelSpec(architecture=architecture, checkpoint=checkpointed, preserve_rng_state=False)
    trace = record_model_memory(MemorySpec(model=model, steps=1), lambda stage, fraction: None)
    built = build(model)
    optimizer = make_optimizer("AdamW", built.model.parameters(), 1e-3)
    tracker = MemTracker()
    tracker.track_external(built.model, optimizer, *built.inputs.values())
    found = {}
    with tracker:
        loss = built.loss(built.forward())
        found["loss"] = now(tracker)
        loss.backward()
        found["backward"] = now(tracker)
        optimizer.step()
        found["optimizer step"] = now(tracker)
    for phase, theirs in found.items():
        ours = after(trace, phase, 1)
        assert theirs["Parameter"] == ours["parameter"]
        assert theirs["Gradient"] == ours["gradient"]
        assert theirs["Optstate"] == ours["optimizer_state"]
        assert theirs["Activation"] == ours["saved"] + loss.nbytes


def now(tracker):
    (found,) = tracker.get_tracker_snapshot("current").values()
    return {getattr(kind, "value", kind): size for kind, size in found.items()}


def test_double_backward_is_no_recomputation():
    weight = torch.randn(16, 16, requires_grad=True)

    def step():
        loss = (torch.tanh(weight) @ weight).square().sum()
        (grad,) = torch.autograd.grad(loss, weight, create_graph=True)
        grad.square().sum().backward()

    trace = record_memory(step, inputs={"weight": weight})
    assert [one for one in trace.phases if one.name == "recompute"] == []
    assert {row.category for row in rows(trace)} & {"recomputed"} == set()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpointed_function_is_recomputation(use_reentrant):
    before = dict(vars(torch.utils.checkpoint._recomputation_hook))
    x = torch.randn(16, 16, requires_grad=True)

    def step():
        checkpoint(lambda y: torch.tanh(y.exp()).sin(), x, use_reentrant=use_reentrant).sum().backward()

    trace = record_memory(step, inputs={"x": x})
    assert len([one for one in trace.phases if one.name == "recompute"]) == 1
    assert {row.operation for row in rows(trace) if row.category == "recomputed"} >= {"aten::exp", "aten::tanh"}
    assert dict(vars(torch.utils.checkpoint._recomputation_hook)) == before


def test_a_closure_runs_inside_of_the_optimizers_step():
    model, x = nn.Linear(8, 8), torch.randn(4, 8)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    trace = record_memory(lambda: optimizer.step(closure) and None, model, {"x": x}, optimizer)
    names = [one.name for one in trace.phases if one.first < one.after]
    after_backward = {names[number + 1] for number, name in enumerate(names[:-1]) if name == "backward"}
    assert after_backward == {"optimizer step"}
    assert trace.largest_difference_bytes == 0


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"step": nn.Linear(2, 2)}, TypeError, "step must be a function without arguments.*received Linear"),
        ({"step": 3}, TypeError, "received int"),
        ({"model": "gpt"}, TypeError, "model must be an nn.Module or None, received str"),
        ({"inputs": "x"}, TypeError, "inputs must be tensors.*received str"),
        ({"inputs": {"x": 3}}, TypeError, "inputs must be tensors.*received dict"),
        ({"optimizer": torch.optim.SGD}, TypeError, "optimizer must be a torch.optim.Optimizer"),
        ({"steps": 1.5}, TypeError, "steps must be a whole number, received float"),
        ({"steps": 0}, ValueError, "steps must be at least 1, received 0"),
    ],
)
def test_wrong_arguments_are_refused_in_words(arguments, error, told):
    with pytest.raises(error, match=told):
        record_memory(**{"step": lambda: None, **arguments})
