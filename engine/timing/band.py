"""The median of paired ratios and its 95 % band."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median

import numpy as np

from engine.timing.comparison import Ratio

RESAMPLES = 4000
BAND = (0.025, 0.975)


def median_band(values: Sequence[float]) -> tuple[float, float]:
    """95 % band of the median, by bootstrap with a fixed seed."""
    drawn = np.random.default_rng(0).choice(np.asarray(values, dtype=np.float64), (RESAMPLES, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), BAND)
    return float(low), float(high)


def paired_ratio(name: str, baseline: str, samples_s: Sequence[float], baseline_s: Sequence[float]) -> Ratio:
    """name / baseline, sample by sample of the same round."""
    ratios = [a / b for a, b in zip(samples_s, baseline_s, strict=True)]
    return Ratio(name, baseline, median(ratios), *median_band(ratios), sign_test(ratios), len(ratios))


def sign_test(ratios: Sequence[float]) -> float:
    """How often fair coins, one per ratio that is not 1, fall on one side as unevenly as the ratios do, or more so."""
    above, below = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    count = above + below
    as_uneven = 2 * sum(comb(count, k) for k in range(min(above, below) + 1))
    return min(1.0, as_uneven / float(2**count))


def ratios_to_first(names: Sequence[str], samples_s: Sequence[Sequence[float]]) -> tuple[Ratio, ...]:
    """Every name after the first against the first."""
    rest = zip(names[1:], samples_s[1:], strict=True)
    return tuple(paired_ratio(name, names[0], samples, samples_s[0]) for name, samples in rest)


def find_winner(names: Sequence[str], samples_s: Sequence[Sequence[float]]) -> str | None:
    """The name with the least median, when every other is slower than it beyond doubt."""
    best = min(range(len(names)), key=lambda number: median(samples_s[number]))
    others = [number for number in range(len(names)) if number != best]
    slower = [paired_ratio(names[number], names[best], samples_s[number], samples_s[best]) for number in others]
    return names[best] if all(found.shows_a_difference and found.low > 1.0 for found in slower) else None
