"""Runs under the scaler against PyTorch used by hand, the documented rule of update, and training without a scaler."""

from __future__ import annotations

import math
import random
import struct

import pytest
import torch

from engine import run
from engine.figures.grad_scaler_words import headline
from engine.grad_scaler import loop as module
from engine.grad_scaler.injections import Injection, injections_text, parse_injections
from engine.grad_scaler.loop import Loop, NotedError
from engine.grad_scaler.parameters import parameter_names
from engine.grad_scaler.spec import GradScalerSpec
from engine.models.build import build
from engine.models.spec import Embedding, LinearStack, Mlp, ModelSpec, TiedLoop
from engine.recorded_grad_scaler import found_inf_in, supports_scaling
from pages.memory.gradient_scaling_controls import TRAINABLE

TINY = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8, in_features=4, out_features=3), loss="cross_entropy")
ONE_WEIGHT = {"model": None, "autocast": "off"}
CASE = GradScalerSpec(**ONE_WEIGHT, steps=6, growth_interval=2, injections=parse_injections("2 inf, 5 nan"))


def result(spec: GradScalerSpec):
    return run(spec, inline=True)


def test_the_public_case_of_backoff_on_the_cpu():
    """pytorch/pytorch#99640: factor, w and scale after every step; the scale may go below 1."""
    steps = result(CASE).run.steps
    assert [round(step.first_weight, 4) for step in steps] == [0.9, 0.9, 0.8, 0.7, 0.7, 0.6]
    assert [step.scale_after for step in steps] == [65536.0, 32768.0, 32768.0, 65536.0, 32768.0, 32768.0]
    assert [step.number for step in steps if step.skipped] == [2, 5]
    low = GradScalerSpec(**ONE_WEIGHT, steps=3, init_scale=2.0, injections=parse_injections("1 inf, 2 inf, 3 inf"))
    assert result(low).run.steps[-1].scale_after == 0.25


@pytest.mark.parametrize("interval", [1, 2, 3])
def test_scale_and_tracker_follow_the_documented_rule(interval):
    """inf or nan: times backoff and the tracker is 0; else the tracker counts, and at the interval times growth."""
    draw = random.Random(interval)
    bad = tuple(Injection(n, draw.choice(["inf", "-inf", "nan"])) for n in range(1, 31) if draw.random() < 0.3)
    spec = GradScalerSpec(
        **ONE_WEIGHT, steps=30, growth_interval=interval, growth_factor=4.0, backoff_factor=0.25, injections=bad
    )
    scale, tracker = 65536.0, 0
    for step in result(spec).run.steps:
        assert step.scale_before == scale
        if step.number in {one.step for one in bad}:
            scale, tracker, event = scale * 0.25, 0, "backoff"
        elif tracker + 1 == interval:
            scale, tracker, event = scale * 4.0, 0, "growth"
        else:
            tracker, event = tracker + 1, ""
        assert (step.scale_after, step.growth_tracker, step.event) == (scale, tracker, event)


@pytest.mark.parametrize("optimizer", ["SGD momentum", "AdamW", "AdamW fused"])
def test_a_power_of_two_changes_no_bit_of_a_float32_run(optimizer):
    spec = GradScalerSpec(model=TINY, autocast="off", optimizer=optimizer, lr=0.01, steps=8, init_scale=2.0**12)
    plain = GradScalerSpec(model=TINY, autocast="off", optimizer=optimizer, lr=0.01, steps=8, enabled=False)
    pairs = zip(result(spec).run.steps, result(plain).run.steps, strict=True)
    for scaled, unscaled in pairs:
        assert struct.pack("d", scaled.first_weight) == struct.pack("d", unscaled.first_weight)
        assert scaled.loss == unscaled.loss
        assert scaled.applied_norm == pytest.approx(unscaled.applied_norm, rel=1e-6)
        assert scaled.scaled_norm == pytest.approx(scaled.scale_before * unscaled.scaled_norm, rel=1e-6)
        assert unscaled.scale_after == 1.0


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "AdamW fused"])
def test_a_skipped_step_leaves_every_bit_and_names_the_gradient(optimizer):
    spec = GradScalerSpec(
        model=TINY, optimizer=optimizer, lr=0.01, steps=4, injections=parse_injections("2 inf in head.bias, 3 nan")
    )
    found = result(spec).run
    at = found.parameters.index("head.bias")
    first, second, third, fourth = found.steps
    assert [step.taken for step in found.steps] == [(True,), (False,), (False,), (True,)]
    assert [step.found_inf for step in found.steps] == [(0.0,), (1.0,), (1.0,), (0.0,)]
    assert [place for place, flag in enumerate(second.checked) if flag] == [at]
    assert second.non_finite[at] == 1
    assert all(third.checked)
    assert first.first_weight == second.first_weight == third.first_weight != fourth.first_weight
    assert second.called == (optimizer == "AdamW fused",)  # a fused one skips inside its kernel
    assert second.scaled_norm == math.inf


def test_two_optimizers_are_skipped_each_by_itself_and_the_scale_backs_off_once():
    spec = GradScalerSpec(model=TINY, optimizers=2, steps=3, injections=parse_injections("2 inf in head.weight"))
    found = result(spec).run
    step = found.steps[1]
    assert (step.found_inf, step.taken, step.called) == ((0.0, 1.0), (True, False), (True, False))
    assert step.scale_after == step.scale_before / 2
    assert found.owners == (0, 0, 0, 1, 1, 1)


def test_clipping_sees_what_unscale_has_or_has_not_divided():
    spec = GradScalerSpec(model=TINY, autocast="off", clipping="unscale_ first", max_norm=0.05, steps=3)
    found = result(spec)
    plain = result(GradScalerSpec(model=TINY, autocast="off", enabled=False, steps=3)).run.steps[0]
    right, wrong = found.run.steps[0], found.beside.steps[0]
    assert right.unscaled_norm == pytest.approx(plain.applied_norm, rel=1e-6)
    assert right.applied_norm == pytest.approx(0.05, rel=1e-4)
    assert wrong.unscaled_norm is None
    assert wrong.clipped_norm == pytest.approx(0.05, rel=1e-4)
    assert wrong.applied_norm == pytest.approx(0.05 / 65536, rel=1e-4)


def test_accumulation_of_one_batch_is_the_same_step():
    one, three = (
        result(GradScalerSpec(model=TINY, autocast="off", steps=2, accumulation=n)).run.steps[-1] for n in (1, 4)
    )
    assert three.loss == pytest.approx(one.loss, rel=1e-6)
    assert three.applied_norm == pytest.approx(one.applied_norm, rel=1e-5)


REFUSED = {
    "scale() forgotten": (1, "scaler.step(optimizer)", "_scale is None"),
    "update() forgotten": (2, "scaler.step(optimizer)", "already been called since the last update()"),
    "unscale_ twice": (1, "scaler.unscale_(optimizer)", "unscale_() has already been called on this optimizer"),
    "step twice": (1, "scaler.step(optimizer)", "step() has already been called"),
    "optimizer.step() instead": (1, "scaler.update()", "No inf checks were recorded prior to update"),
    "zero_grad before step": (1, "scaler.step(optimizer)", "No inf checks were recorded for this optimizer"),
    "float16 parameters": (1, "scaler.step(optimizer)", "Attempting to unscale FP16 gradients"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_pytorch_refuses_is_told_in_its_own_words_beside_the_right_way(mistake):
    found = result(GradScalerSpec(model=TINY, mistake=mistake, steps=3))
    step, call, words = REFUSED[mistake]
    assert (found.run.error_step, found.run.error_call) == (step, call)
    assert words in found.run.error.message
    assert len(found.run.steps) == step - 1
    assert found.beside.error is None
    assert len(found.beside.steps) == 3


def test_factors_that_pytorch_refuses_are_the_lesson_too():
    assert "growth factor must be > 1" in result(GradScalerSpec(**ONE_WEIGHT, growth_factor=1.0)).run.error.message
    assert "backoff factor must be < 1" in result(GradScalerSpec(**ONE_WEIGHT, backoff_factor=1.0)).run.error.message


def test_a_sparse_gradient_is_looked_at_where_it_is_stored():
    sparse = ModelSpec(architecture=Embedding(vocabulary=20, width=4, tokens=3, sparse=True), loss="cross_entropy")
    found = result(GradScalerSpec(model=sparse, steps=3, injections=parse_injections("2 inf"))).run
    assert [step.skipped for step in found.steps] == [False, True, False]


def test_the_adapter_reads_what_it_says():
    gradient = torch.tensor([1.0, float("inf")])
    assert found_inf_in(gradient)
    assert not found_inf_in(gradient[:1])
    assert gradient[0] == 1.0
    weight = torch.nn.Parameter(torch.ones(1))
    assert supports_scaling(torch.optim.AdamW([weight], fused=True))
    assert not supports_scaling(torch.optim.SGD([weight]))


def test_overflows_are_written_and_read_back():
    text = "2 inf, 5 nan, 7 -inf in layers.0.linear.weight"
    assert injections_text(parse_injections(text)) == text
    assert parse_injections(" ; step 3 inf\n") == (Injection(3, "inf"),)
    for wrong in ("2", "inf", "2 infinity", "0 inf", "61 inf", "2 inf in", "2 inf in a b", "x" * 601, "1 inf in <b>"):
        with pytest.raises(ValueError, match="received"):
            parse_injections(wrong)


def test_what_cannot_be_trained_is_refused_in_words():
    for wrong in (
        {"model": ModelSpec(architecture=LinearStack())},
        {"mistake": "unscale_ while accumulating"},
        {"injections": (Injection(1, "inf"),) * 61},
    ):
        with pytest.raises(ValueError, match="received"):
            GradScalerSpec(**wrong)
    for model, known in ((TINY, "loss, layers"), (None, "loss, w")):
        with pytest.raises(ValueError, match=rf"no\.such.*Known are {known}"):
            GradScalerSpec(model=model, injections=parse_injections("1 inf in no.such"))
    with pytest.raises(ValueError, match=r"steps 1 to 3.*received one of step 4"):
        GradScalerSpec(steps=3, injections=parse_injections("2 inf, 4 nan"))
    with pytest.raises(Exception, match="Known are loss, step"):  # only building this model tells its names
        result(GradScalerSpec(model=ModelSpec(architecture=TiedLoop()), injections=parse_injections("1 inf in no")))


@pytest.mark.parametrize("trained", TRAINABLE)
def test_parameter_names_are_those_of_the_built_model(trained):
    model = TRAINABLE[trained]
    if model is None:
        assert parameter_names(None, 2) == ("w", "v")
        return
    built = build(model).model
    assert parameter_names(model, 1) == tuple(name for name, _ in built.named_parameters())


def test_a_scaler_for_cuda_is_enabled_where_there_is_cuda():
    assert result(CASE).cuda_enabled == torch.cuda.is_available()


def test_a_scale_of_zero_ends_no_run():
    for optimizer in ("SGD", "AdamW fused"):
        spec = GradScalerSpec(
            model=TINY, optimizer=optimizer, steps=4, backoff_factor=0.0, injections=parse_injections("1 inf")
        )
        found = result(spec)
        assert found.run.error is None
        assert [step.scale_after for step in found.run.steps] == [0.0] * 4
        assert [step.skipped for step in found.run.steps] == [True, False, True, True]
        assert math.isnan(found.run.steps[1].first_weight)  # 0 passes the check, and 0 / 0 is nan
        assert "scale of 0" in headline(found, spec.init_scale)


def test_a_step_that_is_taken_with_nan_parameters_is_not_skipped():
    """unscale_ sets the flag, but optimizer.step() by itself heeds it not: nan stays nan, bit by bit."""
    for optimizer in ("SGD", "AdamW fused"):
        spec = GradScalerSpec(
            model=TINY, optimizer=optimizer, steps=4, mistake="optimizer.step() instead",
            clipping="unscale_ first", injections=parse_injections("1 nan"),
        )  # fmt: skip
        steps = result(spec).run.steps
        assert all(step.called == (True,) and step.found_inf == (1.0,) for step in steps)
        assert not any(step.skipped for step in steps)


def test_an_error_beside_a_step_is_not_pytorchs(monkeypatch):
    def fail(parameters):
        raise ZeroDivisionError("ours")

    loop = Loop("as set", GradScalerSpec(model=None, steps=2))
    monkeypatch.setattr(Loop, "_owned", lambda self, number: list(self.parameters.values()))
    original = Loop._optimize
    monkeypatch.setattr(Loop, "_optimize", lambda self: (monkeypatch.setattr(module, "norm_of", fail), original(self)))
    with pytest.raises(NotedError):
        loop.run(lambda number: None)
