"""Timing both formats: what is measured, what is left out, and why."""

from __future__ import annotations

import msgspec
import pytest
import torch

from engine import run
from engine.memory_format.convolutions import distinct_calls
from engine.memory_format.spec import FormatTimingSpec
from engine.models.build import build
from engine.models.spec import Mlp, ModelSpec
from tests.memory_format.tracing import conv_net

SHORT = {"rounds": 5, "budget_s": 3.0}


@pytest.fixture(scope="module")
def timing():
    return run(FormatTimingSpec(model=conv_net("squeeze_excite"), convolutions=2, **SHORT), inline=True)


def test_both_formats_are_compared_as_wholes_and_per_convolution(timing):
    for comparison in (timing.forward, timing.forward_and_backward):
        assert comparison.names == ("contiguous", "channels_last")
        assert len(comparison.cpu_s[0]) >= 5
        assert comparison.ratio_low <= comparison.ratio <= comparison.ratio_high
    assert len(timing.convolutions) == 2
    assert all(row.comparison is not None for row in timing.convolutions)


def test_distinct_convolutions_are_counted_and_priced_by_hand():
    """3 x 3 over 8 channels at 4 x 4 pixels in two blocks; 1 x 1 gates on one pixel; the stem at stride 2."""
    built = build(conv_net("squeeze_excite"))
    calls = {call.module: call for call in distinct_calls(built.model, built.forward)}
    assert {path: call.times for path, call in calls.items()} == {
        "stem": 1,
        "blocks.0.conv": 2,
        "blocks.0.gate": 2,
    }
    assert calls["blocks.0.conv"].flops == 2 * (4 * 8 * 4 * 4) * (8 * 3 * 3)
    assert calls["stem"].flops == 2 * (4 * 8 * 4 * 4) * (3 * 3 * 3)
    assert calls["blocks.0.gate"].input_shape == (4, 8, 1, 1)


def test_a_model_without_gradients_says_why_its_backward_was_not_timed():
    spec = FormatTimingSpec(model=conv_net("conv_bn_relu", grad_mode="no_grad"), convolutions=0, **SHORT)
    timing = run(spec, inline=True)
    assert timing.forward is not None
    assert timing.forward_and_backward is None
    ((name, reason),) = timing.not_timed
    assert name == "forward and backward"
    assert "does not require grad" in reason


def test_a_model_too_slow_for_the_budget_is_left_out_with_the_reason(monkeypatch):
    monkeypatch.setattr("engine.memory_format.timed._seconds_of", lambda work: 10.0)
    timing = run(FormatTimingSpec(model=conv_net("conv_bn_relu"), convolutions=1, **SHORT), inline=True)
    assert timing.forward is None
    assert [name for name, _ in timing.not_timed] == ["forward", "forward and backward"]
    assert "10 s" in timing.convolutions[0].not_timed


def test_a_model_without_images_cannot_be_asked_for_channels_last():
    with pytest.raises(ValueError, match="needs images"):
        ModelSpec(architecture=Mlp(), memory_format="channels_last")


def test_timing_leaves_the_threads_as_they_were(timing):
    assert torch.get_num_threads() >= 1
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(timing), type=type(timing)) == timing
