"""The frame of pictures over time: events or seconds across, bytes up, phases as bands, recomputation hatched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine.figures.arrays import array
from engine.figures.chart_svg import svg_text
from engine.figures.memory_svg import WIDTH, box, mark, speaking, text_width, whole_text
from engine.figures.memory_words import phase_words
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import BYTE_UNITS, format_count, format_time
from engine.memory.spec import MemoryTrace, Phase

Across = Literal["events", "seconds"]
ACROSS: tuple[Across, ...] = Across.__args__  # type: ignore[attr-defined]
LEFT, RIGHT, TOP, HEIGHT, BOTTOM = 66, 10, 94, 330, 42
STEPS_Y, PHASES_Y = 52, 68
TICKS_ACROSS = 8
SHORT = {
    "forward": ("forward", "fwd"),
    "backward": ("backward", "bwd"),
    "optimizer step": ("optimizer step", "optimizer", "step"),
    "zero_grad": ("zero_grad", "zero"),
    "end of step": ("end of step", "end"),
}
HATCH = "memory-hatch"


class TimeFrame:
    """Where an event and a number of bytes lie, and the drawing of everything around the data.

    Events first..after-1 are drawn; "after event e" is the stretch from e to e + 1, or to the time of the next event.
    """

    def __init__(self, trace: MemoryTrace, first: int, after: int, largest: int, across: Across, theme: Theme) -> None:
        self.trace, self.first, self.after, self.theme, self.across = trace, first, after, theme, across
        seconds = array(trace.event_s)
        places = np.arange(first, after + 1, dtype=np.float64) if across == "events" else _ends(seconds, first, after)
        self._places: npt.NDArray[np.float64] = places
        self.low, self.high = float(places[0]), max(float(places[-1]), float(places[0]) + 1e-12)
        self.top_bytes, self.step_bytes = _nice_top(largest)

    @property
    def right(self) -> float:
        return WIDTH - RIGHT

    @property
    def bottom(self) -> float:
        return TOP + HEIGHT

    @property
    def height(self) -> float:
        return self.bottom + BOTTOM

    def x(self, event: int) -> float:
        """Left edge of the stretch after `event`, kept inside the picture."""
        place = float(self._places[min(max(event - self.first, 0), self.after - self.first)])
        return LEFT + (place - self.low) / (self.high - self.low) * (self.right - LEFT)

    def xs(self, events: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The same for many."""
        places = self._places[np.clip(events - self.first, 0, self.after - self.first)]
        scaled: npt.NDArray[np.float64] = LEFT + (places - self.low) / (self.high - self.low) * (self.right - LEFT)
        return scaled

    def y(self, count_bytes: float) -> float:
        return self.bottom - count_bytes / self.top_bytes * HEIGHT

    def behind(self) -> Iterator[str]:
        """Phases as bands with their names, lines at round numbers of bytes."""
        yield _hatch(self.theme)
        for number, phase in enumerate(self._phases()):
            yield self._band(phase, number)
        yield from self._steps()
        for value in range(int(self.top_bytes / self.step_bytes) + 1):
            size = value * self.step_bytes
            y = self.y(size)
            yield f'<path d="M{LEFT} {y:.1f}H{self.right}" stroke="{LINE[self.theme]}" stroke-opacity=".3"/>'
            yield svg_text(LEFT - 7, y + 4, _round_bytes(size), MUTED[self.theme], 11, anchor="end")
        yield from self._ticks()

    def recomputed(self) -> Iterator[str]:
        """Stripes over every stretch of recomputation, drawn over the data."""
        for phase in self.trace.phases:
            if phase.name == "recompute" and self._is_in(phase):
                left, right = self.x(phase.first), self.x(phase.after)
                extra = ' pointer-events="none"'
                yield box(left, TOP, max(right - left, 1.5), HEIGHT, f"url(#{HATCH})", extra)
                yield mark("recomputed", (left + right) / 2 - 5.5, TOP - 13, 1.1, self.theme)

    def _phases(self) -> list[Phase]:
        return [phase for phase in self.trace.phases if phase.name != "recompute" and self._is_in(phase)]

    def _is_in(self, phase: Phase) -> bool:
        return phase.after > phase.first and phase.first < self.after and phase.after > self.first

    def _band(self, phase: Phase, number: int) -> str:
        left, right = self.x(phase.first), self.x(phase.after)
        shade = f' fill-opacity="{0.13 if number % 2 else 0.05}"'
        parts = [box(left, TOP - 14, right - left, HEIGHT + 14, LINE[self.theme], shade)]
        for words in SHORT.get(phase.name, (phase.name,)):
            if text_width(words, 11) + 2 <= right - left:
                middle = (left + right) / 2
                parts.append(svg_text(middle, PHASES_Y + 4, words, TEXT[self.theme], 11, anchor="middle"))
                break
        events = f"events {format_count(phase.first)} to {format_count(phase.after - 1)}"
        return speaking(f"{phase_words(phase)}\n{events}", "".join(parts))

    def _steps(self) -> Iterator[str]:
        """A line before every step and its number above."""
        steps = sorted({phase.step for phase in self._phases()})
        for step in steps:
            own = [phase for phase in self._phases() if phase.step == step]
            left, right = self.x(own[0].first), self.x(own[-1].after)
            path = f"M{left:.1f} {STEPS_Y - 8}V{self.bottom:.1f}"
            yield f'<path d="{path}" stroke="{LINE[self.theme]}" stroke-opacity=".8"/>'
            words = f"step {step}" if step else "before step 1"
            yield whole_text(left + 5, STEPS_Y + 2, words, TEXT[self.theme], 12, right - left - 6, weight=650)

    def _ticks(self) -> Iterator[str]:
        span = self.high - self.low
        step = _nice_step(span / TICKS_ACROSS)
        if self.across == "events":
            step = max(1.0, step)
        value = math.ceil(self.low / step - 1e-9) * step
        while value <= self.high + step * 1e-9:
            x = LEFT + (value - self.low) / span * (self.right - LEFT)
            words = format_count(round(value)) if self.across == "events" else format_time(round(value, 12))
            yield f'<path d="M{x:.1f} {self.bottom:.1f}v4" stroke="{LINE[self.theme]}"/>'
            yield svg_text(min(x, self.right - 12), self.bottom + 17, words, MUTED[self.theme], 11, anchor="middle")
            value += step
        words = (
            "allocator events: one allocation or one free each"
            if self.across == "events"
            else "seconds since the first event, the profiler's own work included"
        )
        yield svg_text((LEFT + self.right) / 2, self.bottom + 35, words, MUTED[self.theme], 11.5, anchor="middle")


def stairs(xs: Sequence[float], ys: Sequence[float], end: float) -> str:
    """The path data of a value that changes at each x and stays until the next, the last until `end`; no M."""
    parts: list[str] = []
    for number, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if number and ys[number - 1] == y:
            continue
        parts.append(f"{'L' if not number else 'H'}{x:.1f}" + (f" {y:.1f}" if not number else f"V{y:.1f}"))
    return "".join(parts) + f"H{end:.1f}"


def back_along(xs: list[float], ys: list[float]) -> str:
    """From the right end of a stair back to its left end."""
    parts = []
    for number in range(len(xs) - 1, 0, -1):
        if ys[number - 1] != ys[number]:
            parts.append(f"H{xs[number]:.1f}V{ys[number - 1]:.1f}")
    return "".join(parts) + f"H{xs[0]:.1f}"


def _ends(seconds: npt.NDArray[np.float64], first: int, after: int) -> npt.NDArray[np.float64]:
    """Times of the events and of the one after the last."""
    last = seconds[after] if after < seconds.size else seconds[-1]
    return np.append(seconds[first:after], last)


def _nice_top(largest: int) -> tuple[float, float]:
    """(upper end of the axis, step of its lines) for bytes: 1, 2, 2.5 or 5 times a power of 10 of a binary unit."""
    unit = 1024 ** min(int(math.log(max(largest, 1), 1024)), len(BYTE_UNITS) - 1)
    step = _nice_step(max(largest, 1) / unit / 5) * unit
    step = max(step, 1.0)
    return step * max(1, math.ceil(largest * 1.04 / step)), step


def _nice_step(rough: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def _round_bytes(size: float) -> str:
    """A round number of bytes without trailing zeros: 2.5 MiB, 20 KiB."""
    unit = min(int(math.log(size, 1024) + 1e-9), len(BYTE_UNITS) - 1) if size >= 1 else 0
    words = f"{size / 1024**unit:.4f}".rstrip("0").rstrip(".")
    return f"{words} {BYTE_UNITS[unit]}"


def _hatch(theme: Theme) -> str:
    colour = meaning("recomputed").accent(theme)
    return (
        f'<defs><pattern id="{HATCH}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path d="M0 0V7" stroke="{colour}" stroke-opacity=".75" stroke-width="1.5"/>'
        "</pattern></defs>"
    )
