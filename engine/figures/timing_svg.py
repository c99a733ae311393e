"""A comparison as one self-contained SVG: every sample of both sides, medians, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import LINE, MUTED, TEXT, Theme
from engine.figures.timing_chart import colour_of
from engine.figures.timing_words import band_words, headline
from engine.figures.units import format_time
from engine.timing.comparison import Comparison

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 60, 24, 84, 78
TICKS = 5


def comparison_svg(comparison: Comparison, theme: Theme = "light") -> str:
    """Samples as dots on one axis of time, a row per side; the median is a line, verdict and band are words."""
    every = [s for samples in comparison.samples_s for s in samples]
    low, high = min(every), max(every)
    height = TOP + ROW * len(comparison.names) + 44
    body = [svg_text(LEFT, 34, headline(comparison), TEXT[theme], 20, weight=700)]
    body.append(svg_text(LEFT, 60, band_words(comparison), MUTED[theme], 13))
    for place, (name, samples) in enumerate(zip(comparison.names, comparison.samples_s, strict=True)):
        body += _row(name, samples, comparison.median_s[place], place, (low, high), theme)
    body += _axis(low, high, height - 36, theme)
    return svg_page(WIDTH, height, headline(comparison), body, theme)


def _x(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return LEFT + (WIDTH - LEFT - RIGHT) * ((value - low) / (high - low) if high > low else 0.5)


def _row(
    name: str, samples: Sequence[float], middle: float, place: int, ends: tuple[float, float], theme: Theme
) -> list[str]:
    colour, y = colour_of(place, theme), TOP + ROW * place + ROW / 2
    dots = [
        f'<circle cx="{_x(sample, ends):.1f}" cy="{y - 14 + 14 * (number % 3):.1f}" r="4" fill="{colour}" '
        f'fill-opacity=".55"/>'
        for number, sample in enumerate(samples)
    ]
    x = _x(middle, ends)
    return [
        svg_text(24, y + 6, name, colour, 18, weight=700),
        *dots,
        f'<path d="M{x:.1f} {y - 26:.1f}V{y + 26:.1f}" stroke="{colour}" stroke-width="3"/>',
        svg_text(min(x + 6, WIDTH - 110), y + 32, f"median {format_time(middle)}", TEXT[theme], 12),
    ]


def _axis(low: float, high: float, y: float, theme: Theme) -> list[str]:
    lines = [f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{LINE[theme]}"/>']
    for number in range(TICKS):
        value = low + (high - low) * number / (TICKS - 1)
        lines.append(svg_text(_x(value, (low, high)), y + 20, format_time(value), MUTED[theme], 12, anchor="middle"))
    return lines
