"""Charts of timings show the numbers of the comparison, grey out doubt, and have round ticks."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.figures.axis import MOST_TICKS, nice_ticks
from engine.figures.palette import MUTED
from engine.figures.timing_chart import NO_DIFFERENCE, colour_of, doubt, format_size, ratio_chart, sweep_chart, verdict
from engine.timing.band import ratios_to_first
from engine.timing.crossover import find_crossovers
from engine.timing.spec import Comparison, Ratio, Series

ROUNDS = (1.0, 1.1, 0.9, 1.05, 0.95)


def comparison(**times: float) -> Comparison:
    samples = tuple(
        tuple(time * (ROUNDS[(number + row) % 5] if time == 1.0 else 1.0) for number in range(5))
        for row, time in enumerate(times.values())
    )
    return Comparison(
        names=tuple(times),
        calls=(1,) * len(times),
        cpu_s=samples,
        wall_s=samples,
        threads=1,
        ratios=ratios_to_first(tuple(times), samples),
        winner=None,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_ratio_chart_shows_median_band_and_every_sample(theme):
    found = comparison(view=1.0, copy=1.0, slow=8.0)
    figure = ratio_chart(found, theme)
    assert len(figure.data) == 3 * 2  # samples, band and median of every name after the first
    for row, ratio in enumerate(found.ratios):
        samples, band, median = figure.data[3 * row : 3 * row + 3]
        assert tuple(samples.x) == found.paired_ratios(ratio.name)
        assert tuple(band.x) == (ratio.low, ratio.high)
        assert tuple(median.x) == (ratio.ratio,)
    assert figure.data[2].marker.color == MUTED[theme]
    assert figure.data[2].marker.symbol.endswith("-open")
    assert figure.data[5].marker.color == colour_of(2, theme)
    assert figure.layout.xaxis.type == "log"
    low, high = (10**end for end in figure.layout.xaxis.range)
    assert low < min(min(trace.x) for trace in figure.data)
    assert high > max(max(trace.x) for trace in figure.data)


def test_noise_around_one_does_not_fill_the_picture():
    figure = ratio_chart(comparison(a=3.0, b=3.0))
    low, high = (10**end for end in figure.layout.xaxis.range)
    assert low < 0.91
    assert high > 1.1


def test_the_verdict_is_in_words():
    assert verdict(Ratio("b", "view", 21.34, 20.0, 22.0)) == "21.3× slower than view"
    assert verdict(Ratio("b", "view", 0.5, 0.4, 0.6)) == "2.00× faster than view"
    assert verdict(Ratio("b", "view", 1.2, 0.9, 1.4)) == NO_DIFFERENCE


def test_a_band_beside_one_without_a_difference_says_why():
    def told(*times: float) -> str:
        samples = ((1.0,) * 9, times)
        found = comparison(a=1.0, b=2.0)
        found = msgspec.structs.replace(
            found, cpu_s=samples, wall_s=samples, ratios=ratios_to_first(("a", "b"), samples)
        )
        words = doubt(found, found.ratios[0])
        assert words in ratio_chart(found).layout.yaxis.ticktext[0]
        return words

    assert told(*(1.5,) * 8, 0.9) == ": 1 of 9 rounds disagrees"
    assert told(*(0.5,) * 8, 1.1) == ": 1 of 9 rounds disagrees"
    assert told(*(1.01,) * 9) == ": nearer to 1 than 2 %"
    assert told(*(1.5,) * 9) == ""
    assert told(*(1.5,) * 5, *(0.5,) * 4) == ""


def test_names_are_escaped():
    figure = ratio_chart(comparison(**{"a": 1.0, "<img src=x>": 4.0}))
    assert "<img" not in figure.to_json()


def rising(name: str, power: float) -> Series:
    sizes = (1.0, 4.0, 16.0, 64.0)
    return Series(name, sizes, tuple(tuple(1e-6 * 4 ** (1 - power) * s**power * r for r in ROUNDS) for s in sizes))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sweep_chart_shows_medians_and_the_crossover(theme):
    slow, fast = rising("loop", 2.0), rising("vector", 0.0)
    crossovers = find_crossovers(slow, fast)
    figure = sweep_chart([slow, fast], x_title="rows", crossovers=crossovers, theme=theme)
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [line.name for line in lines] == ["loop", "vector"]
    for line, one in zip(lines, (slow, fast), strict=True):
        assert tuple(line.x) == one.sizes
        assert tuple(line.y) == one.median_s
    assert lines[0].line.dash != lines[1].line.dash
    assert lines[0].marker.symbol != lines[1].marker.symbol
    (note,) = figure.layout.annotations
    assert 10**note.x == pytest.approx(crossovers[0].size)
    assert "estimated" in note.text
    assert note.text.startswith("vector faster than loop")
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("names", [("c", "a", "b"), ("b", "c"), ("a", "d", "c")])
def test_a_name_keeps_its_colour_and_symbol_in_every_chart(names, theme):
    order = ("a", "b", "c", "d")
    sweep = sweep_chart([rising(name, 1.0) for name in names], x_title="rows", theme=theme, order=order)
    lines = {trace.name: trace for trace in sweep.data if trace.mode == "lines+markers"}
    ratios = ratio_chart(comparison(**{name: 2.0 * 8**place for place, name in enumerate(names)}), theme, order=order)
    for number, name in enumerate(names[1:]):
        median = ratios.data[3 * number + 2].marker
        assert median.color == lines[name].line.color == colour_of(order.index(name), theme)
        assert median.symbol == lines[name].marker.symbol
        assert median.color in ratios.layout.yaxis.ticktext[number]


def test_a_sweep_without_anything_is_an_empty_chart():
    assert len(sweep_chart([], x_title="rows").data) == 0


def test_sizes_are_worded_whole_or_in_three_digits():
    assert [format_size(size) for size in (0.05, 2.0, 9.875, 4096.4)] == ["0.05", "2", "9.88", "4\u202f096"]


@given(st.floats(1e-9, 1e6), st.floats(1.0, 1e9))
def test_ticks_are_few_round_and_inside(low, factor):
    high = low * factor
    ticks = nice_ticks(low, high)
    assert 1 <= len(ticks) <= MOST_TICKS
    assert ticks == sorted(ticks)
    if len(ticks) > 1:
        assert low * 0.99 <= ticks[0]
        assert ticks[-1] <= high * 1.01
    for tick in ticks:
        exponent = math.floor(math.log10(tick)) - 3
        if factor > 1.001 and low > 1e-6:
            assert tick == pytest.approx(round(tick / 10.0**exponent) * 10.0**exponent, rel=1e-2)
