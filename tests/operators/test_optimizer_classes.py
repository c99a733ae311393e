"""AdamW and SGD of engine.operators.optimizers: step by step what torch.optim's are, through everything around them."""

from __future__ import annotations

import copy
import io

import pytest
import torch

from engine.operators import adamw_step_, sgd_step_
from engine.operators.flat_state import new_flat, views_of
from engine.operators.load import load
from engine.operators.optimizers import SGD, AdamW
from tests.operators.test_optimizers import STEPS, assert_near, gradients, parameters

KINDS = {
    "AdamW": (AdamW, torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1}),
    "AdamW amsgrad": (AdamW, torch.optim.AdamW, {"lr": 0.05, "amsgrad": True, "maximize": True}),
    "SGD": (SGD, torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}),
    "SGD momentum": (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "SGD nesterov": (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
}
by_kind = pytest.mark.parametrize("kind", KINDS)
compiled_only = pytest.mark.skipif(not load().compiled, reason="the reference gives PyTorch's own messages")


class Pair:
    """Our optimizer and PyTorch's on equal parameters, in two groups."""

    def __init__(self, kind: str, dtype: torch.dtype = torch.float32) -> None:
        ours, theirs, settings = KINDS[kind]
        self.dtype, self.taken = dtype, 0
        self.ours, self.theirs = parameters(dtype), parameters(dtype)
        self.optimizer, self.other = (
            made(
                [{"params": params[:3]}, {"params": params[3:], "lr": 0.02, "weight_decay": 0.3}],
                **settings,
            )
            for made, params in ((ours, self.ours), (theirs, self.theirs))
        )

    def step(self, absent: tuple[int, ...] = ()) -> None:
        for params in (self.ours, self.theirs):
            for i, (param, grad) in enumerate(zip(params, gradients(self.taken, self.dtype), strict=False)):
                param.grad = None if i in absent else grad
        self.taken += 1
        self.optimizer.step()
        self.other.step()

    def check(self) -> None:
        assert_near(self.ours, self.theirs, self.dtype)
        for param, other in zip(self.ours, self.theirs, strict=True):
            got, wanted = self.optimizer.state.get(param, {}), self.other.state.get(other, {})
            kept = {name for name, value in wanted.items() if value is not None}
            assert kept == set(got)
            for name in kept:
                assert got[name].shape == wanted[name].shape
                assert_near([got[name]], [wanted[name]], self.dtype)


@by_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_step_by_step(kind, dtype):
    pair = Pair(kind, dtype)
    for _ in range(STEPS):
        pair.step()
        pair.check()


@by_kind
def test_parameters_without_a_gradient_stay_and_keep_their_count(kind):
    pair = Pair(kind)
    for step in range(STEPS):
        pair.step(absent=((), (0, 4), (0, 4), tuple(range(7)), (6,))[step % 5])
        pair.check()


@by_kind
def test_a_group_added_later(kind):
    pair = Pair(kind)
    pair.step()
    for optimizer, params in ((pair.optimizer, pair.ours), (pair.other, pair.theirs)):
        params.append(torch.ones(4, 2))
        optimizer.add_param_group({"params": params[-1], "lr": 0.5})
    for _ in range(3):
        pair.step()
        for params in (pair.ours, pair.theirs):
            params[-1].grad = torch.full((4, 2), 0.5)
        pair.check()


@by_kind
@pytest.mark.parametrize("way", ["theirs to ours", "ours to theirs", "ours to ours", "saved"])
def test_state_dicts_load_either_way(kind, way):
    ours, theirs, settings = KINDS[kind]
    pair = Pair(kind)
    for _ in range(3):
        pair.step(absent=(1,))
    state = (pair.other if way == "theirs to ours" else pair.optimizer).state_dict()
    if way == "saved":
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        state = torch.load(file)
    made = theirs if way == "ours to theirs" else ours
    fresh = made([{"params": pair.ours[:3]}, {"params": pair.ours[3:]}], **settings)
    fresh.load_state_dict(copy.deepcopy(state))
    pair.optimizer = fresh
    for _ in range(3):
        pair.step()
        pair.check()


@by_kind
def test_a_copy_and_a_pickled_one_go_on_alone(kind):
    pair = Pair(kind)
    pair.step()
    before = [param.clone() for param in pair.ours]
    file = io.BytesIO()
    torch.save(pair.optimizer, file)
    file.seek(0)
    for other in (copy.deepcopy(pair.optimizer), torch.load(file, weights_only=False)):
        for group in other.param_groups:
            for param in group["params"]:
                param.grad = torch.ones_like(param)
        other.step()
    assert all(torch.equal(param, kept) for param, kept in zip(pair.ours, before, strict=True))
    pair.step()
    pair.check()


@by_kind
def test_mixed_dtypes_in_one_group(kind):
    ours, theirs, settings = KINDS[kind]
    made = {
        optimizer: [torch.ones(3), torch.ones(4, dtype=torch.float64), torch.ones(5)] for optimizer in (ours, theirs)
    }
    for optimizer, params in made.items():
        steps = optimizer(params, **settings)
        for step in range(STEPS):
            for param in params:
                param.grad = torch.full_like(param, 0.5 - step)
            steps.step()
    for got, wanted in zip(made[ours], made[theirs], strict=True):
        assert_near([got], [wanted], got.dtype)


def test_settings_changed_between_steps_count():
    pair = Pair("SGD")
    for momentum in (0.0, 0.9, 0.9, 0.0, 0.5):
        for optimizer in (pair.optimizer, pair.other):
            for group in optimizer.param_groups:
                group["momentum"] = momentum
        pair.step()
        assert_near(pair.ours, pair.theirs, pair.dtype)


def test_hooks_run_once_and_a_closure_gives_the_loss():
    weight = torch.ones(3, requires_grad=True)
    optimizer, calls = AdamW([weight]), []
    torch.optim.AdamW([torch.ones(1)])  # gives the class above a step with hooks of its own
    optimizer.register_step_pre_hook(lambda *args: calls.append("before"))
    optimizer.register_step_post_hook(lambda *args: calls.append("after"))

    def closure():
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 3
    assert calls == ["before", "after"]


@pytest.mark.parametrize("made", [AdamW, SGD])
def test_a_scheduler_and_autograd_see_an_optimizer(made):
    weight = torch.ones(3, requires_grad=True)
    optimizer = made([weight], lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    loss = weight.square().sum()
    weight.grad = torch.ones(3)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_flat_state_is_a_list_of_its_views(dtype):
    """The same elements, whatever the layouts: transposed, channels_last, with gaps, empty, 0-d."""
    one, two, grads = parameters(dtype), parameters(dtype), gradients(0, dtype)
    flat, listed = [new_flat(one) for _ in range(2)], [views_of(new_flat(two), two) for _ in range(2)]
    for step in (1, 2):
        adamw_step_(one, grads, *([state] for state in flat), step=step)
        adamw_step_(two, grads, *listed, step=step)
    for state, views in zip(flat, listed, strict=True):
        assert all(torch.equal(got, want) for got, want in zip(views_of(state, one), views, strict=True))
    assert all(torch.equal(got, want) for got, want in zip(one, two, strict=True))


shared = torch.ones(9)
REFUSED = {
    "too short": ([torch.ones(6)], "or one 1-d tensor of all their elements, 7; received one of 6"),
    "dtype": ([torch.ones(7, dtype=torch.float64)], r"expected momentum_buffers of the dtype of params\[0\]"),
    "not 1-d": ([torch.ones(7, 1)], "expected as many momentum_buffers as params, 2; received 1"),
    "in a parameter": ([shared[2:]], r"received params\[0\] and momentum_buffers\[0\] in the same memory"),
}


@compiled_only
@pytest.mark.parametrize("what", REFUSED)
def test_wrong_flat_state_is_refused_in_words(what):
    buffers, said = REFUSED[what]
    with pytest.raises(RuntimeError, match=f"sgd_step_: .*{said}"):
        sgd_step_([shared[:3], torch.ones(2, 2)], [torch.ones(3), torch.ones(2, 2)], buffers, lr=0.1, momentum=0.9)
