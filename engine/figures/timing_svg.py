"""A comparison as one self-contained SVG: every sample of both sides, medians, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.palette import BACKGROUND, LINE, MUTED, TEXT, Theme
from engine.figures.svg import FONT, safe
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
    body = [_text(LEFT, 34, headline(comparison), TEXT[theme], 20, 700)]
    body.append(_text(LEFT, 60, band_words(comparison), MUTED[theme], 13))
    for place, (name, samples) in enumerate(zip(comparison.names, comparison.samples_s, strict=True)):
        body += _row(name, samples, comparison.median_s[place], place, (low, high), theme)
    body += _axis(low, high, height - 36, theme)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="{FONT}" role="img">',
            f"<title>{safe(headline(comparison))}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="{BACKGROUND[theme]}"/>',
            *body,
            "</svg>",
        ]
    )


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
        _text(24, y + 6, name, colour, 18, 700),
        *dots,
        f'<path d="M{x:.1f} {y - 26:.1f}V{y + 26:.1f}" stroke="{colour}" stroke-width="3"/>',
        _text(min(x + 6, WIDTH - 110), y + 32, f"median {format_time(middle)}", TEXT[theme], 12),
    ]


def _axis(low: float, high: float, y: float, theme: Theme) -> list[str]:
    lines = [f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{LINE[theme]}"/>']
    for number in range(TICKS):
        value = low + (high - low) * number / (TICKS - 1)
        lines.append(_text(_x(value, (low, high)), y + 20, format_time(value), MUTED[theme], 12, anchor="middle"))
    return lines


def _text(x: float, y: float, text: str, colour: str, size: int, weight: int = 400, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{safe(text)}</text>'
    )
