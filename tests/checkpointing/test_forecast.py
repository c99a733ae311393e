"""Forecasts against real runs: held bytes to the byte where promised, FLOPs always, peaks within the bound."""

from __future__ import annotations

import msgspec
import pytest

from engine.checkpointing.forecast import forecast_policies
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.pricing import price
from engine.checkpointing.spec import Forecast, ForecastSpec, Outcome, PolicySpec
from engine.higher_order.allocated import peak_bytes
from engine.models.architecture import ConvNet, Gpt, LinearStack, ResNet
from engine.models.size import parameter_count
from engine.models.spec import ModelSpec, block_count, describe
from tests.checkpointing.forecast_cases import FAMILIES, POLICIES, SMALL

PEAK_BOUND = 0.3
"""What the docstring of forecast_policies promises for peaks."""
SLACK_BYTES = 64
"""Scalars: an expression of three numbers has a peak of some 40 bytes."""


def quietly(stage: str, fraction: float) -> None:
    pass


def pairs(model: ModelSpec, policies: tuple[Policy, ...] = POLICIES) -> list[tuple[Forecast, Outcome]]:
    asked = policies if block_count(model.architecture) else tuple(p for p in policies if not p.is_checkpoint)
    foreseen = forecast_policies(ForecastSpec(model=model, policies=asked), quietly)
    real = run_policies(PolicySpec(model=model, policies=asked), quietly)
    assert foreseen.before_bytes == real.before_bytes
    return list(zip(foreseen.forecasts, real.outcomes, strict=True))


def check(forecast: Forecast, real: Outcome, model: ModelSpec) -> None:
    """Peaks of convolutions have a bound only in float32 and contiguous format: there their kernels are modelled."""
    is_fused = getattr(model.architecture, "fused", False)
    is_plain = (model.dtype, model.autocast, model.memory_format) == ("float32", "off", "contiguous")
    where = label_of(real.policy)
    assert forecast.error == real.error, where
    if real.error is not None or real.held_bytes is None or real.peak_bytes is None:
        return
    assert forecast.held_is_exact is not is_fused, where
    assert bool(forecast.why_not) is is_fused
    assert forecast.recomputed_flops == real.recomputed_flops, where
    assert forecast.held_bytes is not None
    assert forecast.peak_bytes is not None
    if forecast.held_is_exact:
        assert forecast.held_bytes == real.held_bytes, where
    else:
        assert forecast.held_bytes <= real.held_bytes, where
    if not forecast.peak_leaves_out or (is_plain and not is_fused):
        assert abs(forecast.peak_bytes - real.peak_bytes) <= PEAK_BOUND * real.peak_bytes + SLACK_BYTES, where
    assert bool(forecast.peak_leaves_out) is (is_fused or isinstance(model.architecture, ConvNet | ResNet)), where


@pytest.mark.parametrize("model", SMALL, ids=lambda model: describe(model.architecture))
def test_held_bytes_and_flops_are_those_of_a_run(model):
    compared = pairs(model)
    for forecast, real in compared:
        check(forecast, real, model)
    assert len({forecast.held_bytes for forecast, _ in compared}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(FAMILIES)), ids=lambda number: describe(FAMILIES[number].architecture))
def test_every_family_under_a_third_of_the_policies(number):
    """Which third changes from one to the next, so that every policy meets models of every kind."""
    model = FAMILIES[number]
    for forecast, real in pairs(model, (Policy(), *POLICIES[1 + number % 3 :: 3])):
        check(forecast, real, model)


def test_a_stack_by_hand():
    """Linear + ReLU keeps its input, which is the output of the one before; a checkpoint keeps the input of a group."""
    model = ModelSpec(architecture=LinearStack(layers=6, width=32), batch=4)
    row = 4 * 32 * 4
    policies = (Policy(), Policy(kind="each_block"), Policy(kind="groups", groups=((2, 6),)))
    found = forecast_policies(ForecastSpec(model=model, policies=policies), quietly)
    assert [one.held_bytes for one in found.forecasts] == [6 * row, 5 * row, 2 * row]
    linear = 2 * 4 * 32 * 32
    assert [one.recomputed_flops for one in found.forecasts] == [0, 6 * linear, 4 * linear]


def test_a_forecast_allocates_nothing():
    wide = ModelSpec(architecture=Gpt(layers=1, heads=16, width=1024, sequence=1024), batch=64)
    kept = []
    allocated = peak_bytes(lambda: kept.append(forecast_policies(ForecastSpec(model=wide), quietly)))
    assert kept[0].forecasts[0].peak_bytes > 1 << 32
    assert allocated < 1 << 20


@pytest.mark.slow
def test_a_model_far_too_large_is_forecast_and_a_run_of_it_refused():
    gpt2_medium = Gpt(layers=24, heads=16, width=1024, sequence=1024, vocabulary=50257)
    model = ModelSpec(architecture=gpt2_medium, batch=64, loss="cross_entropy")
    found = forecast_policies(ForecastSpec(model=model), quietly)
    assert found.before_bytes == 4 * parameter_count(gpt2_medium) + 2 * 64 * 1024 * 8
    off, each = found.forecasts
    assert off.peak_bytes > off.held_bytes > 5 * each.held_bytes > 5 * found.limit_bytes
    assert price(ForecastSpec(model=model)) is None
    priced = price(PolicySpec(model=model))
    assert priced is not None
    assert priced.predicted_bytes > found.limit_bytes


def test_a_forecast_says_what_pytorch_would():
    model = msgspec.structs.replace(SMALL[0], batch=2)
    policies = (Policy(), Policy(kind="segments", segments=400), Policy(kind="selective", keep=("aten.nothing.here",)))
    (_, first), *refused = pairs(model, policies)
    assert first.error is None
    for forecast, real in refused:
        assert forecast.error == real.error
        assert forecast.error is not None
