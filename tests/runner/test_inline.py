"""`run(spec, inline=True)`: the same result as in a worker, and the caller's torch as it was."""

from __future__ import annotations

import random

import pytest
import torch

from engine import Fault, run
from tests.runner.misbehaving.spec import (
    SMALL,
    AutocastSpec,
    EchoSpec,
    NoisySpec,
    PricedSpec,
    ProgressSpec,
    RaiseSpec,
    StateSpec,
)


def _state():
    return (
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_anomaly_enabled(),
        torch.is_anomaly_check_nan_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_float32_matmul_precision(),
        torch.get_rng_state().tolist(),
        random.getstate(),
    )


@pytest.fixture
def odd_state():
    """Every process-wide and thread-wide setting away from its default."""
    before = (torch.get_default_dtype(), torch.get_num_threads(), torch.get_float32_matmul_precision())
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    torch.set_float32_matmul_precision("medium")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(77)
    with torch.no_grad(), torch.autograd.set_detect_anomaly(True, False), torch.autocast("cpu", dtype=torch.bfloat16):
        yield
    torch.use_deterministic_algorithms(False)
    torch.set_default_dtype(before[0])
    torch.set_num_threads(before[1])
    torch.set_float32_matmul_precision(before[2])


@pytest.mark.usefixtures("odd_state")
@pytest.mark.parametrize("spec", [EchoSpec(), NoisySpec(dtype="float32", anomaly=False, pause_s=0.0), StateSpec()])
def test_the_callers_state_is_kept(spec):
    before = _state()
    run(spec, inline=True)
    assert _state() == before


@pytest.mark.usefixtures("odd_state")
def test_the_callers_state_is_kept_when_the_verb_fails():
    before = _state()
    with pytest.raises(Fault):
        run(RaiseSpec(how="torch"), inline=True)
    assert _state() == before


@pytest.mark.usefixtures("odd_state")
@pytest.mark.parametrize("spec", [StateSpec(), NoisySpec(seed=4, dtype="float64", anomaly=True, pause_s=0.0)])
def test_inline_equals_worker(forking, spec):
    assert run(spec, inline=True) == forking.submit(spec, fresh=True).result()


@pytest.mark.usefixtures("odd_state")
def test_autocast_of_the_caller_does_not_keep_cast_weights_for_the_verb():
    depth = torch.autocast_increment_nesting()
    assert run(AutocastSpec(), inline=True).numbers == (2.0, 6.0)
    assert torch.autocast_increment_nesting() == depth + 1
    for _ in range(2):
        torch.autocast_decrement_nesting()


def test_inference_mode_of_the_caller_does_not_reach_the_verb():
    with torch.inference_mode():
        result = run(NoisySpec(pause_s=0.0), inline=True)
        assert torch.is_inference_mode_enabled()
    assert result == run(NoisySpec(pause_s=0.0), inline=True)


def test_faults_keep_their_cause():
    with pytest.raises(Fault) as caught:
        run(RaiseSpec(how="torch"), inline=True)
    assert caught.value.kind == "torch_error"
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_ctrl_c_goes_through():
    with pytest.raises(KeyboardInterrupt):
        run(RaiseSpec(how="keyboard_interrupt"), inline=True)


def test_the_price_counts_inline_too():
    with pytest.raises(Fault) as caught:
        run(PricedSpec(price_bytes=SMALL.memory_bytes + 1), inline=True)
    assert caught.value.kind == "refused"


def test_progress_is_told():
    told = []
    run(ProgressSpec(steps=2), inline=True, on_progress=lambda *one: told.append(one))
    assert told == [("step 0", 0.0), ("step 1", 0.5)]
