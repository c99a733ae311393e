"""Axes of the picture of policies: ranges, round ticks and their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from engine.figures.checkpointing_places import Box
from engine.figures.checkpointing_points import Point, Up
from engine.figures.units import format_bytes, format_count, format_significant

FLOP_UNITS = ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP"))
MOST_TICKS = 6
ROOM = 0.08
"""Of the range, left free beyond the outermost marks."""
BAND_HALF = 5
"""Pixels to each side of the dashes that end a 95 % band."""


class Axis(msgspec.Struct, frozen=True):
    """From `low` to `high`, with ticks and what they say."""

    low: float
    high: float
    ticks: tuple[float, ...]
    words: tuple[str, ...]

    def share(self, value: float) -> float:
        """Where a value stands, 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def bytes_axis(points: Sequence[Point]) -> Axis:
    """From 0 to what holds most."""
    most = max([point.x_bytes for point in points], default=0) or 1
    high = most * (1 + ROOM)
    step = 2.0 ** math.ceil(math.log2(high / MOST_TICKS))
    ticks = tuple(step * number for number in range(int(high / step) + 1))
    return Axis(-high * ROOM / 2, high, ticks, tuple(map(format_bytes, ticks)))


def cost_axis(points: Sequence[Point], up: Up) -> Axis:
    """Of times around the marks with their bands, of the rest from 0."""
    values = [one for point in points for one in (point.y, point.low, point.high) if one is not None]
    low, high = (min(values, default=1.0), max(values, default=1.0)) if up == "time" else (0.0, max(values, default=0))
    if up == "time":
        low, high = min(low, 1.0), max(high, 1.05)
    high = high if high > low else low + 1
    room = (high - low) * ROOM
    ticks = _ticks(low, high, 0.0 if up == "time" else 1.0)
    return Axis(low - 1.4 * room, high + 1.4 * room, ticks, tuple(cost_words(tick, up) for tick in ticks))


def cost_words(value: float, up: Up) -> str:
    """A cost in its unit."""
    if up == "time":
        return f"{format_significant(value)}×"
    return format_flops(value) if up == "recomputed_flops" else format_count(round(value))


def format_flops(flops: float) -> str:
    """Floating point operations in the unit that fits: 2_500_000 -> "2.50 MFLOP"."""
    for scale, unit in FLOP_UNITS:
        if abs(flops) >= scale * 0.9995:
            return f"{format_significant(flops / scale)} {unit}"
    return f"{format_significant(flops)} FLOP" if flops else "0 FLOP"


def _ticks(low: float, high: float, least_step: float) -> tuple[float, ...]:
    step = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if (high - low) / (step * factor) <= MOST_TICKS)
    step = max(step, least_step)
    return tuple(round(n * step, 12) for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))


def front_lines(front: Sequence[Point], x: Axis, y: Axis, width: float, height: float) -> list[Box]:
    """The upright parts of the front's steps, which a label beside a mark would cross, in the same pixels."""
    steps = [(x.share(b.x_bytes) * width, y.share(a.y), y.share(b.y)) for a, b in pairwise(front)]
    return [(at - 1, (1 - max(a, b)) * height, at + 1, (1 - min(a, b)) * height) for at, a, b in steps]


def bands_of(points: Sequence[Point], x: Axis, y: Axis, width: float, height: float) -> list[Box]:
    """Where the 95 % bands stand in a plot of that size, in pixels from its top left corner."""
    return [
        (at - BAND_HALF, (1 - y.share(point.high)) * height, at + BAND_HALF, (1 - y.share(point.low)) * height)
        for point in points
        if point.low is not None and point.high is not None
        for at in [x.share(point.x_bytes) * width]
    ]
