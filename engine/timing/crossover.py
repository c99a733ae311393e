"""Where two measured lines cross: estimated on log scales between neighbouring sizes."""

from __future__ import annotations

import math
from itertools import pairwise

from engine.timing.comparison import Crossover, Series

Point = tuple[float, tuple[float, ...], tuple[float, ...]]


def find_crossovers(first: Series, second: Series) -> tuple[Crossover, ...]:
    """Every change of the faster of two series over the sizes both were measured at.

    It lies between two sizes where one is faster beyond the overlap of the middle halves of their samples, so that
    lines which touch for a while are one crossover and noise is none; the estimate is where the medians cross there.
    """
    points = _common(first, second)
    clear = [number for number, (_, a, b) in enumerate(points) if _apart(a, b)]
    found = []
    for start, end in pairwise(clear):
        if _advantage(points[start]) * _advantage(points[end]) < 0:
            between = points[start : end + 1]
            names = (first.name, second.name) if _advantage(between[0]) < 0 else (second.name, first.name)
            found.append(Crossover(*names, _crossing(between), between[0][0], between[-1][0]))
    return tuple(found)


def _advantage(point: Point) -> float:
    """Log of first / second: negative where the first is faster."""
    return math.log(_at(sorted(point[1]), 0.5) / _at(sorted(point[2]), 0.5))


def _crossing(points: list[Point]) -> float:
    """Where the medians cross; of several places, as noise makes them, the middle one."""
    places = []
    for one, following in pairwise(points):
        before, after = _advantage(one), _advantage(following)
        if before * after <= 0 and before != after:
            share = before / (before - after)
            places.append(math.exp(math.log(one[0]) + share * math.log(following[0] / one[0])))
    return places[len(places) // 2]


def _common(first: Series, second: Series) -> list[Point]:
    other = dict(zip(second.sizes, second.samples_s, strict=True))
    pairs = zip(first.sizes, first.samples_s, strict=True)
    return sorted((size, samples, other[size]) for size, samples in pairs if size in other)


def quartiles(samples: tuple[float, ...]) -> tuple[float, float]:
    """The middle half of the samples, ends by linear interpolation."""
    ordered = sorted(samples)
    return _at(ordered, 0.25), _at(ordered, 0.75)


def _at(ordered: list[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _apart(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    (low, high), (other_low, other_high) = quartiles(first), quartiles(second)
    return high < other_low or other_high < low
