"""Gradients in every format: counted again with numpy and by the definition of the formats."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine import run
from engine.grad_scaler.spec import GradScalerSpec
from engine.grad_scaler.spread import FORMATS, SWEEP, Collected, range_of, share_of, spread_of
from engine.models.build import build
from tests.grad_scaler.test_training import TINY

VALUES = torch.tensor(
    np.concatenate([np.geomspace(1e-12, 1e7, 4001) * np.where(np.arange(4001) % 2, 1, -1), [65519.0, 65520.0, 464.0]])
).float()


@pytest.mark.parametrize("scale", [1.0, 3.0, 65536.0])
def test_float16_is_counted_as_numpy_converts(scale):
    with np.errstate(over="ignore", under="ignore"):
        became = np.abs((VALUES.numpy() * np.float32(scale)).astype(np.float16).astype(np.float64))
    share = share_of(VALUES, "float16", scale)
    assert share.to_zero == (became == 0).sum()
    assert share.overflow == np.isinf(became).sum()
    assert share.subnormal == ((became > 0) & (became < 2.0**-14)).sum()
    assert share.saturated == 0
    assert share.counted == len(VALUES)


def test_bfloat16_loses_nothing_and_e4m3_saturates_beyond_464():
    assert share_of(VALUES, "bfloat16", 1.0).lost == 0
    share = share_of(VALUES, "float8_e4m3fn", 1.0)
    assert share.saturated == int((VALUES.abs() > 464).sum())
    assert share.overflow == 0
    assert share.to_zero == int((VALUES.abs() <= 2.0**-10).sum())
    assert share_of(VALUES, "float8_e5m2", 1.0).overflow == int((VALUES.abs() >= 61440).sum())


def test_ranges_are_those_of_the_formats():
    found = {one.dtype: one for one in map(range_of, FORMATS)}
    assert (found["float16"].largest, found["float16"].smallest_subnormal) == (65504.0, 2.0**-24)
    assert (found["float8_e4m3fn"].largest, found["float8_e4m3fn"].smallest_subnormal) == (448.0, 2.0**-9)
    assert (found["float8_e5m2"].smallest_normal, found["bfloat16"].smallest_normal) == (2.0**-14, 2.0**-126)


def test_exponents_zeros_and_the_best_scale():
    values = [torch.tensor([0.0, 1.0, -1.9, 2.0, 2.0**-30, math.inf])]
    collected = Collected("parameters", most=6)
    for step in (1, 2):
        collected.add(step, values)  # the second would be too many
    found = spread_of(collected, (1.0,))
    assert found.steps == (1,)
    assert (found.elements, found.zeros, found.non_finite) == (6, 1, 1)
    assert dict(zip(found.exponents, found.counts, strict=True)) == {-30: 1, 0: 2, 1: 1}
    best = next(one for one in found.best if one.dtype == "float16")
    assert (best.low, best.high, best.lost) == (6, 14, 0)  # 2**-30 * 2**6 = 2**-24; 2 * 2**15 overflows
    assert best.exponent == 6  # 2**-30 stays subnormal at each of them
    assert best.swept[SWEEP.index(15)] == 1


def test_the_gradients_are_those_of_float32_at_the_runs_own_parameters():
    found = run(GradScalerSpec(model=TINY, steps=1), inline=True)
    built = build(TINY)
    built.loss(built.forward()).backward()
    flat = torch.cat([one.grad.reshape(-1) for one in built.model.parameters()])
    spread = found.spreads[0]
    assert spread.elements == flat.numel()
    assert spread.zeros == int((flat == 0).sum())
    exponents = [math.floor(math.log2(abs(value))) for value in flat.tolist() if value]
    assert dict(zip(spread.exponents, spread.counts, strict=True)) == {e: exponents.count(e) for e in set(exponents)}
    assert [one.source for one in found.spreads] == ["parameters", "activations"]
