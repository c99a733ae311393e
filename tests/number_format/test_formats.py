"""The layouts read by hand against every bit pattern torch has, and rounding against exact fractions and numpy."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch

from engine import run
from engine.number_format.experiment import INTEGERS, bits_of
from engine.number_format.formats import BY_NAME, FORMATS, nearest, neighbours
from engine.number_format.parse import parse_value, parse_values
from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from pages.memory.number_formats_sums import headline

NAMES = [one.name for one in FORMATS]
WRONG_EPS = {"float8_e5m2fnuz": 0.125}
"""What torch.finfo of torch 2.13 says where two mantissa bits make it 0.25."""


def stored(text: str, name: str, **more):
    found = run(NumberFormatSpec(text=text, **more), inline=True).values[0].stored
    return next(one for one in found if one.dtype == name)


@pytest.mark.parametrize("name", NAMES)
def test_bits_mean_what_torch_reads_from_them(name):
    layout, draw = BY_NAME[name], random.Random(0)
    top = 1 << layout.bits
    edges = {0, 1, layout.largest_bits, layout.largest_bits + 1, top - 1, top // 2, 1 << layout.mantissa_bits}
    some = range(top) if layout.bits == 8 else sorted(edges | {draw.randrange(top) for _ in range(1500)})
    kind = INTEGERS[layout.bits // 8]
    read = torch.tensor(list(some), dtype=kind).view(getattr(torch, name)).double().tolist()
    for bits, value in zip(some, read, strict=True):
        special = layout.special(bits)
        if special == "finite":
            assert Fraction(value) == layout.value(bits), hex(bits)
        else:
            assert math.isnan(value) if special == "nan" else value == float(special), hex(bits)


@pytest.mark.parametrize("name", NAMES)
def test_limits_are_those_of_finfo(name):
    layout, info = BY_NAME[name], torch.finfo(getattr(torch, name))
    assert float(layout.largest) == info.max
    assert float(layout.smallest_normal) == info.smallest_normal
    assert WRONG_EPS.get(name, float(layout.eps)) == info.eps
    one = nearest(layout, Fraction(1))
    assert neighbours(layout, one)[1] == 1 + layout.eps


@pytest.mark.parametrize("name", NAMES)
def test_torch_rounds_float32_to_the_nearest_and_ties_to_even(name):
    """Random numbers, every neighbour's middle, and the edges, against bisection in exact fractions."""
    layout, draw = BY_NAME[name], random.Random(1)
    values = [draw.uniform(-4, 4) * 2.0 ** draw.randint(-12, 8) for _ in range(150)]
    for bits in (draw.randrange(layout.largest_bits) for _ in range(60)):
        middle = (layout.value(bits) + layout.value(bits + 1)) / 2
        values.append(float(middle))
    source = torch.tensor(values, dtype=torch.float64 if layout.bits == 64 else torch.float32)
    for value in source.tolist():
        expected = nearest(layout, Fraction(value))
        made = torch.tensor([value], dtype=source.dtype).to(getattr(torch, name))
        if expected is None:
            assert layout.special(bits_of(made)) != "finite" or bits_of(made) & 0x7F == layout.largest_bits
        else:
            assert bits_of(made) == expected or (layout.value(expected) == 0 == made.double().item())


def test_float16_is_what_numpy_makes_of_a_float32():
    for text in ("0.1", "1/3", "65519", "65520", "6e-8", "2**-25", "3 * 2**-25", "-7.7", "inf"):
        value = parse_value(text).value
        with np.errstate(over="ignore"):
            expected = np.float16(np.float32(value))
        assert int(stored(text, "float16").bits, 16) == expected.view(np.uint16)


def test_neighbours_spacing_and_errors():
    found = stored("2049", "float16")
    assert (found.value, found.below, found.above, found.spacing) == (2048.0, 2047.0, 2050.0, 2.0)
    assert found.relative_error == pytest.approx(1 / 2049)
    for name, dtype in (("float32", np.float32), ("float64", np.float64)):
        one = stored("-0.3", name)
        assert one.below == np.nextafter(dtype(-0.3), dtype(-np.inf))
        assert one.above == np.nextafter(dtype(-0.3), dtype(np.inf))
    assert stored("0.1", "float64").relative_error == float(abs(Fraction(0.1) - Fraction(1, 10)) * 10)


def test_two_roundings_on_the_way_from_float64_to_float16():
    text = "1+2**-11+2**-40"
    assert nearest(BY_NAME["float16"], Fraction(parse_value(text).value)) == 0x3C01
    found = stored(text, "float16")
    assert (found.bits, found.rounding) == ("0x3c00", "by way of float32")
    assert stored("1+2**-11", "float16").rounding == "nearest even"
    beyond = stored("65519.99999", "float16")  # float32 makes it 65520, halfway to 2**16: inf, not the nearest 65504
    assert (beyond.outcome, beyond.rounding) == ("inf", "by way of float32")
    assert stored("3.4028235677973366e38", "float32").rounding == "by way of float64"
    assert stored("65520", "float16").rounding == "not finite"
    assert stored("0.5", "float16").rounding == "exact"


def test_the_outcome_says_what_became_of_a_number():
    expected = {
        ("1e-8", "float16"): "zero",
        ("6e-8", "float16"): "subnormal",
        ("1e5", "float16"): "inf",
        ("65519", "float16"): "normal",
        ("1000", "float8_e4m3fn"): "saturated",
        ("464", "float8_e4m3fn"): "normal",
        ("1000", "float8_e4m3fnuz"): "nan",
        ("-3", "float8_e8m0fnu"): "sign lost",
        ("0", "float8_e8m0fnu"): "no zero",
        ("nan", "bfloat16"): "nan",
    }
    assert {key: stored(*key).outcome for key in expected} == expected


def test_a_scale_brings_back_what_float16_would_lose():
    """pytorch/pytorch#99640: 1e-8 is 0 in float16, 9.997e-09 when scaled by 65536 and back."""
    found = stored("1e-8", "float16", scale=65536.0)
    assert (found.value, round(found.scaled_back, 12)) == (0.0, 9.997e-09)


def test_what_torch_has_but_does_not_convert_is_told():
    found = run(NumberFormatSpec(), inline=True)
    assert [one.dtype for one in found.refused] == ["float4_e2m1fn_x2"]
    assert "not implemented" in found.refused[0].error.message
    sums = {(one.dtype, one.code): one.result for one in found.sums}
    assert sums[("float16", "2048 + 1")] == 2048.0
    assert sums[("bfloat16", "256 + 1")] == 256.0
    assert sums[("float16", "1 + eps")] == 1 + 2.0**-10
    assert sums[("float16", "1 + eps / 2")] == 1.0
    assert sums[("float8_e5m2", "1 + eps")] is None


def test_a_running_sum_stops_where_half_a_spacing_is_more_than_the_addend():
    found = {one.dtype: one for one in run(RunningSumSpec(count=3000), inline=True).runs}
    total, addend, stops = np.float16(0), np.float16(0.1), None
    for number in range(1, 3001):
        following = total + addend
        if stops is None and following == total:
            stops = number
        total = following
    half = found["float16"]
    assert (half.total, half.stops_at) == (float(total), stops)
    assert np.spacing(np.float16(half.total)) / 2 > addend
    assert half.torch_sum == pytest.approx(300, abs=0.25)
    for start, addend, count in (("2048", "1", 5), ("60000", "1000", 20), ("-1e39", "1e39", 1), ("1", "0.5", 9)):
        for one in run(RunningSumSpec(start=start, addend=addend, count=count), inline=True).runs:
            dtype = getattr(torch, one.dtype)
            ends = [torch.tensor([float(text)], dtype=torch.float64).to(dtype) for text in (start, addend)]
            if one.emulated:
                assert one.torch_sum is None
                continue
            summed = torch.cat([ends[0], *[ends[1]] * count]).sum().double().item()
            assert one.torch_sum == pytest.approx(summed, nan_ok=True, abs=0)
    assert found["bfloat16"].total == 32.0
    assert found["float8_e4m3fn"].emulated
    assert not half.emulated
    assert half.counts[-1] == 3000
    assert found["float32"].stops_at is None


def test_a_total_beyond_float64_is_told():
    spec = RunningSumSpec(addend="1e308", count=100)
    found = run(spec, inline=True)
    assert found.exact_total == math.inf
    assert "beyond float64" in headline(found)
    assert run(RunningSumSpec(addend="-1e308", start="-1e308", count=9), inline=True).exact_total == -math.inf


def test_powers_of_two_saturate_from_halfway_to_the_next():
    for text, outcome in (("2.3e38", "normal"), ("2**127*1.4999", "normal"), ("2**127 * 1.5", "nan"), ("inf", "nan")):
        assert stored(text, "float8_e8m0fnu").outcome == outcome
    assert nearest(BY_NAME["float8_e8m0fnu"], 3 * Fraction(2) ** 126) is None


def test_what_float64_cannot_hold_is_not_called_exact():
    for text in ("1e-1000", "2**-1200", "0x1p-1080", "0x1.00000000000001p0", "1+2**-60"):
        for name in ("float64", "float32"):
            one = stored(text, name)
            assert one.rounding == "nearest even"
            assert one.relative_error > 0
    assert stored("1+2**-11+2**-70", "float16").rounding == "by way of float64"


def test_numbers_are_read_exactly():
    assert parse_value("2**-1200").exact == Fraction(1, 1 << 1200)
    assert parse_value("0x1.00000000000001p0").exact == 1 + Fraction(1, 1 << 56)
    assert parse_value("2**127*1.5").exact == parse_value("3*2**126").exact == 3 << 126
    assert parse_value("-2**2").exact == -4
    assert parse_value("2**-(1+2)/.5").exact == Fraction(1, 4)
    assert parse_value("1/0").value == math.inf
    assert [parse_value(text).value for text in ("INF", "-Infinity", "+inf")] == [math.inf, -math.inf, math.inf]
    assert math.isnan(parse_value("NaN").value)
    assert parse_value("0.1").exact == Fraction(1, 10)
    assert parse_value("1/3").exact == Fraction(1, 3)
    assert parse_value("0x1.8p-3").value == 0.1875
    assert parse_value("-2**-149").exact == -Fraction(1, 1 << 149)
    assert parse_value("(1 + 2) * 3").value == 9.0
    assert parse_value("inf").exact is None
    assert math.isnan(parse_value("nan").value)
    assert parse_value("1e400").value == math.inf
    assert math.copysign(1, parse_value("-0.0").value) == -1
    assert [one.text for one in parse_values("1, 2,")] == ["1", "2"]
    for wrong in (
        "",
        " , ",
        "1,2,3,4,5,6,7",
        "x",
        "__import__('os')",
        "1" * 61,
        "<b>",
        "relu(1)",
        "2**9999",
        "0x",
        "1e99999",
        "9**9**9",
    ):
        with pytest.raises(ValueError, match=r"number|characters|power"):
            parse_values(wrong)
    for wrong in ({"addend": "inf"}, {"start": "nan"}, {"addend": "1e400"}, {"addend": "x"}):
        with pytest.raises(ValueError, match="number"):
            RunningSumSpec(**wrong)
