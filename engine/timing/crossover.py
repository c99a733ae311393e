"""Where two measured lines cross: estimated on log scales between neighbouring sizes."""

from __future__ import annotations

import math
from itertools import pairwise

from engine.timing.spec import Crossover, Series


def find_crossovers(first: Series, second: Series) -> tuple[Crossover, ...]:
    """Every change of the faster of two series over the sizes both were measured at.

    Only sizes where one is faster beyond the overlap of the middle halves of their samples count, so that lines which
    touch for a while are one crossover and noise is none.
    """
    told = [(size, a, b) for size, a, b in _common(first, second) if _apart(a, b)]
    found = []
    for (size, a, b), (next_size, next_a, next_b) in pairwise(told):
        before, after = math.log(_middle(a) / _middle(b)), math.log(_middle(next_a) / _middle(next_b))
        if before * after < 0:
            share = before / (before - after)
            crossing = math.exp(math.log(size) + share * math.log(next_size / size))
            names = (first.name, second.name) if before < 0 else (second.name, first.name)
            found.append(Crossover(*names, crossing, size, next_size))
    return tuple(found)


def _common(first: Series, second: Series) -> list[tuple[float, tuple[float, ...], tuple[float, ...]]]:
    other = dict(zip(second.sizes, second.samples_s, strict=True))
    pairs = zip(first.sizes, first.samples_s, strict=True)
    return sorted((size, samples, other[size]) for size, samples in pairs if size in other)


def quartiles(samples: tuple[float, ...]) -> tuple[float, float]:
    """The middle half of the samples, ends by linear interpolation."""
    ordered = sorted(samples)
    return _at(ordered, 0.25), _at(ordered, 0.75)


def _middle(samples: tuple[float, ...]) -> float:
    return _at(sorted(samples), 0.5)


def _at(ordered: list[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _apart(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    (low, high), (other_low, other_high) = quartiles(first), quartiles(second)
    return high < other_low or other_high < low
