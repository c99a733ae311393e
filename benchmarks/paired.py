"""Fair comparison of two callables: interleaved rounds, median of paired ratios of thread CPU time, 95 % band.

One after the other, a busy machine favours whichever ran in the quiet moment; interleaved, both meet the same noise.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

RESAMPLES = 2000
BAND = (0.025, 0.975)


@dataclass(frozen=True)
class Ratio:
    """first / second, with its 95 % band and the raw thread CPU seconds of every round."""

    first_s: tuple[float, ...]
    second_s: tuple[float, ...]
    ratio: float
    low: float
    high: float

    @property
    def shows_a_difference(self) -> bool:
        return not self.low <= 1.0 <= self.high


def thread_seconds(work: Callable[[], object]) -> float:
    """Thread CPU seconds of one call, garbage collection held back."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        if collecting:
            gc.enable()


def compare_paired(first: Callable[[], object], second: Callable[[], object], *, rounds: int = 9) -> Ratio:
    """Run both in turn, the order swapped every round, after one warm-up of each."""
    first()
    second()
    pairs = [_one_round(first, second, swapped=bool(number % 2)) for number in range(rounds)]
    ratios = [a / b for a, b in pairs]
    low, high = median_band(ratios)
    return Ratio(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), median(ratios), low, high)


def _one_round(first: Callable[[], object], second: Callable[[], object], *, swapped: bool) -> tuple[float, float]:
    if swapped:
        later = thread_seconds(second)
        return thread_seconds(first), later
    return thread_seconds(first), thread_seconds(second)


def median_band(values: Sequence[float]) -> tuple[float, float]:
    """95 % band of the median, by bootstrap with a fixed seed."""
    dice = random.Random(0)
    medians = sorted(median(dice.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(BAND[0] * RESAMPLES)], medians[int(BAND[1] * RESAMPLES)]
