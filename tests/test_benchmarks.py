"""The benchmarks' own arithmetic: paired ratios, their band, and the table."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.__main__ import benchmark_names
from benchmarks.paired import compare_paired, median_band
from benchmarks.row import Row, table


def spin(times: int) -> int:
    total = 0
    for number in range(times):
        total += number * number
    return total


def test_four_times_the_work_takes_four_times_the_time():
    found = compare_paired(lambda: spin(80_000), lambda: spin(20_000), rounds=9)
    assert found.ratio == pytest.approx(4.0, rel=0.2)
    assert found.low <= found.ratio <= found.high
    assert found.shows_a_difference
    assert len(found.first_s) == len(found.second_s) == 9


def test_the_same_work_twice_is_near_one():
    found = compare_paired(lambda: spin(40_000), lambda: spin(40_000), rounds=9)
    assert found.ratio == pytest.approx(1.0, abs=0.15)


def test_the_band_of_equal_values_has_no_width_and_holds_the_median_otherwise():
    assert median_band([2.0] * 5) == (2.0, 2.0)
    low, high = median_band([1.0, 2.0, 3.0, 4.0, 100.0])
    assert 1.0 <= low <= 3.0 <= high <= 100.0


def test_the_table_says_which_target_was_missed():
    text = table([Row("quick", 1.0, 2.0, "s"), Row("slow", 3.0, 2.0, "s", "5 runs")])
    quick, slow = text.splitlines()[1:]
    assert " ok " in quick
    assert "MISSED" not in quick
    assert "MISSED" in slow
    assert slow.endswith("5 runs")


def test_every_benchmark_can_be_run_by_name():
    assert benchmark_names()
    for name in benchmark_names():
        assert callable(importlib.import_module(f"benchmarks.{name}").measure)
