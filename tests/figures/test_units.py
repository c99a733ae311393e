"""Numbers in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.figures.units import (
    BYTE_UNITS,
    format_bytes,
    format_count,
    format_exact_bytes,
    format_shape,
    format_significant,
    format_time,
    shorten,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1000, "0.977 KiB"),
        (1024, "1.00 KiB"),
        (1023 * 1024, "0.999 MiB"),
        (13_107_200, "12.5 MiB"),
        (512 * 1024, "512 KiB"),
        (1 << 30, "1.00 GiB"),
        (1 << 70, "1020 EiB"),
        (-2048, "−2.00 KiB"),
    ],
)
def test_bytes(count, text):
    assert format_bytes(count) == text


@given(st.integers(1, 1 << 62))
def test_bytes_are_right_to_three_digits(count):
    number, unit = format_bytes(count).split()
    assert float(number) * 1024 ** BYTE_UNITS.index(unit) == pytest.approx(count, rel=0.0051)


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0, "0 s"),
        (0.00153, "1.53 ms"),
        (1.0, "1.00 s"),
        (0.9999, "1.00 s"),
        (2.5e-6, "2.50 µs"),
        (3e-9, "3.00 ns"),
        (125, "2 min 5 s"),
        (119.7, "2 min 0 s"),
        (math.inf, "∞ s"),
    ],
)
def test_time(time_s, text):
    assert format_time(time_s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (9.996, "10.0"),
        (-0.5, "−0.500"),
        (123456.0, "123000"),
        (1e-7, "1.00e−07"),
        (2.5e9, "2.50e+09"),
        (math.nan, "nan"),
        (-math.inf, "−∞"),
    ],
)
def test_significant_digits(value, text):
    assert format_significant(value) == text


def test_counts_shapes_and_deltas():
    assert format_count(1234567) == "1\u202f234\u202f567"
    assert format_exact_bytes(13_107_200) == "13\u202f107\u202f200 B"
    assert [format_shape(s) for s in ((4, 64), (7,), (), None)] == ["4×64", "(7,)", "scalar", "symbolic"]


@given(st.text(max_size=400), st.integers(3, 60))
def test_shortened_text_is_one_line_and_fits(text, room):
    short = shorten(text, room)
    assert len(short) <= room
    assert len(short.splitlines()) <= 1
    if len(" ".join(text.split())) <= room:
        assert short == " ".join(text.split())


def test_shortened_text_keeps_both_ends():
    assert shorten("begin" + "x" * 50_000 + "end", 11).startswith("begin…")
    assert shorten("begin" + "x" * 50_000 + "end", 11).endswith("end")
