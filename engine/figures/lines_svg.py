"""Lines over one axis as one self-contained SVG, for files and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import CATEGORICAL, LINE, MUTED, TEXT, Theme
from engine.figures.units import format_significant

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 72, 20, 74, 48
TICKS = 5
DASHES = ("", "7 4", "2 3", "8 3 2 3", "12 4")


class Line(msgspec.Struct, frozen=True):
    """One named line; points that are not finite, or not positive on a logarithmic axis, leave a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    place: int = 0
    """Of its colour and dash."""


def lines_svg(
    lines: Sequence[Line],
    theme: Theme = "light",
    *,
    title: str,
    x_title: str,
    log_x: bool = False,
    log_y: bool = False,
    limits: tuple[float, float] | None = None,
) -> str:
    """The lines with their legend above and both axes labelled in the values' own numbers.

    `limits` of the vertical axis: points beyond leave a gap, and the title of the horizontal axis says so.
    """
    if limits is not None:
        lines = [_within(line, limits) for line in lines]
        x_title += f" (clipped to {format_significant(limits[0])} … {format_significant(limits[1])})"
    across = _Axis([v for line in lines for v in line.x], log_x, LEFT, WIDTH - RIGHT)
    up = _Axis([v for line in lines for v in line.y], log_y, HEIGHT - BOTTOM, TOP)
    body = [svg_text(LEFT, 26, title, TEXT[theme], 16, weight=700)]
    body += _legend(lines, theme)
    for place, value in up.ticks():
        body.append(f'<path d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
        body.append(svg_text(LEFT - 8, place + 4, format_significant(value), MUTED[theme], 11, anchor="end"))
    for place, value in across.ticks():
        body.append(svg_text(place, HEIGHT - BOTTOM + 18, format_significant(value), MUTED[theme], 11, anchor="middle"))
    body.append(svg_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_title, MUTED[theme], 12, anchor="middle"))
    body += [_line(line, across, up, theme) for line in lines]
    return svg_page(WIDTH, HEIGHT, title, body, theme)


def _within(line: Line, limits: tuple[float, float]) -> Line:
    return msgspec.structs.replace(line, y=[y if limits[0] <= y <= limits[1] else math.nan for y in line.y])


class _Axis:
    """Values to pixels from `start` to `end`."""

    def __init__(self, values: Sequence[float], log: bool, start: float, end: float) -> None:
        self.scale: Callable[[float], float] = _log10 if log else float
        self.log, self.start, self.end = log, start, end
        scaled = [found for value in values if math.isfinite(found := self.scale(value))] or [0.0, 1.0]
        self.low, self.high = min(scaled), max(scaled)
        if self.low == self.high:
            self.low, self.high = self.low - 1, self.high + 1

    def at(self, value: float) -> float | None:
        scaled = self.scale(value)
        if not math.isfinite(scaled):
            return None
        return self.start + (scaled - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, float]]:
        """(pixel, value) at equal distances."""
        shares = [step / (TICKS - 1) for step in range(TICKS)]
        scaled = [self.low + share * (self.high - self.low) for share in shares]
        values = [10**one if self.log else one for one in scaled]
        return [(self.start + share * (self.end - self.start), v) for share, v in zip(shares, values, strict=True)]


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan


def _line(line: Line, across: _Axis, up: _Axis, theme: Theme) -> str:
    parts, pen = [], "M"
    for x, y in zip(line.x, line.y, strict=True):
        left, top = across.at(x), up.at(y)
        if left is None or top is None:
            pen = "M"
            continue
        parts.append(f"{pen}{left:.1f} {top:.1f}")
        pen = "L"
    dash = DASHES[line.place % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{"".join(parts)}" fill="none" stroke="{_colour(line, theme)}" stroke-width="2"{dashed}/>'


def _legend(lines: Sequence[Line], theme: Theme) -> list[str]:
    parts, x, y = [], float(LEFT), 50.0
    for line in lines:
        needed = 36 + 7 * len(line.name)
        if x + needed > WIDTH - RIGHT and x > LEFT:
            x, y = float(LEFT), y + 16
        dash = DASHES[line.place % len(DASHES)]
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<path d="M{x:.0f} {y - 4:.0f}h22" stroke="{_colour(line, theme)}" stroke-width="2"{dashed}/>')
        parts.append(svg_text(x + 28, y, line.name, TEXT[theme], 12))
        x += needed
    return parts


def _colour(line: Line, theme: Theme) -> str:
    return CATEGORICAL[line.place % len(CATEGORICAL)][theme == "dark"]
