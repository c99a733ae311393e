"""Round numbers for the ticks of a log axis, however narrow its range."""

from __future__ import annotations

import math

MOST_TICKS = 9
_STEPS = (1, 2, 5)


def nice_ticks(low: float, high: float) -> list[float]:
    """Round values from `low` to `high`, at most nine: powers of ten, 1-2-5, or even steps in a narrow range.

    Both positive; at least one tick, which may lie outside of an empty range.
    """
    if high / low < 4:
        return _even(low, high)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in (_STEPS, (1,)):
        ticks = [digit * 10.0**exponent for exponent in range(first, last + 1) for digit in steps]
        inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(inside) <= MOST_TICKS:
            return inside or _even(low, high)
    every = math.ceil(len(inside) / MOST_TICKS)
    return inside[::every]


def _even(low: float, high: float) -> list[float]:
    width = high - low
    if width <= 1e-9 * high:
        return [low]
    step = 10.0 ** math.floor(math.log10(width / 3))
    step *= next(factor for factor in (1, 2, 5, 10) if width / (step * factor) <= 6)
    ticks = [round(number * step, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ticks or [low]
