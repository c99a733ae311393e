"""Ratios and bands against hand arithmetic and against order statistics; crossovers against lines with a known one."""

from __future__ import annotations

import random
from math import comb
from statistics import median

import pytest

from engine.timing.band import median_band, paired_ratio, ratios_to_first
from engine.timing.crossover import find_crossovers, quartiles
from engine.timing.spec import Comparison, Ratio, Series


def resampled_median_at_most(rank: int, count: int) -> float:
    """Chance that the median of `count` draws with replacement is at most the `rank`-th smallest of `count` values.

    It is when more than half of the draws are among the `rank` smallest: a binomial, exactly.
    """
    share = rank / count
    return sum(comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(count // 2 + 1, count + 1))


@pytest.mark.parametrize("count", [5, 9, 15, 31])
def test_the_band_is_what_exact_resampling_gives(count):
    values = [float(number) for number in range(1, count + 1)]
    random.Random(count).shuffle(values)
    low, high = median_band(values)
    # The 2.5 % point lies at the first rank that reaches it; the draw's own error may move it where that is close.
    near = [r for r in range(1, count + 1) if abs(resampled_median_at_most(r, count) - 0.025) < 0.01]
    exact = next(r for r in range(1, count + 1) if resampled_median_at_most(r, count) >= 0.025)
    allowed = {float(rank) for rank in (exact, *near, *(rank + 1 for rank in near))}
    assert low in allowed
    assert count + 1 - high in allowed


def test_equal_values_have_a_band_without_width():
    assert median_band([2.0] * 5) == (2.0, 2.0)


def test_one_wild_value_does_not_move_the_median():
    found = paired_ratio("b", "a", [2.0, 2.0, 2.0, 2.0, 200.0], [1.0] * 5)
    assert found.ratio == 2.0
    assert 2.0 <= found.low <= found.high <= 200.0


def test_ratios_are_paired_by_round_before_the_median_is_taken():
    first, second = [1.0, 10.0, 100.0, 1000.0, 10.0], [2.0, 20.0, 200.0, 2000.0, 20.0]
    (found,) = ratios_to_first(("a", "b"), (first, second))
    assert (found.ratio, found.low, found.high) == (2.0, 2.0, 2.0)
    assert (found.name, found.baseline) == ("b", "a")


@pytest.mark.parametrize(
    ("low", "ratio", "high", "shown"),
    [
        (0.9, 1.0, 1.1, False),
        (1.0, 1.2, 1.3, False),
        (1.1, 1.2, 1.3, True),
        (0.5, 0.6, 0.7, True),
        (1.005, 1.01, 1.015, False),
        (0.985, 0.99, 0.995, False),
    ],
)
def test_a_difference_is_shown_when_the_band_leaves_one_out_and_the_method_can_tell(low, ratio, high, shown):
    assert Ratio("b", "a", ratio, low, high).shows_a_difference is shown


def test_a_comparison_gives_its_paired_ratios_and_medians():
    found = Comparison(
        names=("a", "b"),
        calls=(1, 1),
        cpu_s=((1.0, 2.0, 4.0), (3.0, 2.0, 8.0)),
        wall_s=((9.0, 9.0, 9.0), (9.0, 9.0, 9.0)),
        threads=1,
        ratios=(),
        winner=None,
    )
    assert found.paired_ratios("b") == (3.0, 1.0, 2.0)
    assert found.paired_ratios("a", "b") == (1 / 3, 1.0, 0.5)
    assert found.median_s == (2.0, 3.0)
    assert found.rounds == 3


def series(name: str, times: dict[float, float], spread: float = 0.01) -> Series:
    wobble = (1 - spread, 1.0, 1 + spread)
    return Series(name, tuple(times), tuple(tuple(t * w for w in wobble) for t in times.values()))


def test_power_laws_cross_where_algebra_says():
    """3 n^0.5 = n at n = 9: straight lines on log scales, so the estimate is exact."""
    sizes = (1, 2, 4, 8, 16, 32)
    flat, steep = series("flat", {n: 3 * n**0.5 for n in sizes}), series("steep", {n: float(n) for n in sizes})
    (found,) = find_crossovers(flat, steep)
    assert found.size == pytest.approx(9.0, rel=1e-6)
    assert (found.faster_below, found.faster_above) == ("steep", "flat")
    assert (found.measured_below, found.measured_above) == (8, 16)
    assert find_crossovers(steep, flat) == (found,)


def test_lines_that_touch_without_a_clear_difference_do_not_cross():
    a = series("a", {1: 1.0, 2: 2.0, 4: 4.0}, spread=0.2)
    b = series("b", {1: 1.05, 2: 1.95, 4: 4.1}, spread=0.2)
    assert find_crossovers(a, b) == ()


def test_only_sizes_that_both_were_measured_at_count():
    a, b = series("a", {1: 1.0, 10: 10.0}), series("b", {2: 5.0, 10: 5.0})
    assert find_crossovers(a, b) == ()


def test_a_stretch_of_doubt_is_one_crossover_where_the_medians_cross():
    a, b = (
        series("a", dict.fromkeys((1, 2, 4, 8, 16), 1.0)),
        series("b", {1: 4.0, 2: 1.01, 4: 0.99, 8: 1 / 4, 16: 1 / 4}),
    )
    wide = Series(b.name, b.sizes, tuple(s if n in (0, 3, 4) else (0.5, s[1], 2.0) for n, s in enumerate(b.samples_s)))
    (found,) = find_crossovers(a, wide)
    assert (found.measured_below, found.measured_above) == (1, 8)
    assert 2 < found.size < 4
    assert (found.faster_below, found.faster_above) == ("a", "b")


def test_two_crossovers_are_both_found():
    sizes = (1, 2, 4, 8, 16)
    a = series("a", dict.fromkeys(sizes, 1.0))
    b = series("b", dict(zip(sizes, (0.5, 2.0, 2.0, 0.5, 0.5), strict=True)))
    assert [found.faster_above for found in find_crossovers(a, b)] == ["a", "b"]


def test_the_middle_half_is_interpolated():
    assert quartiles((1.0, 2.0, 3.0, 4.0, 5.0)) == (2.0, 4.0)
    low, high = quartiles((0.0, 10.0))
    assert (low, high) == (2.5, 7.5)
    assert low < median((0.0, 10.0)) < high
