"""The roofline as one self-contained SVG: slopes, roofs, a point per rung, the slope taken marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from engine.figures.axis import nice_ticks
from engine.figures.palette import BACKGROUND, LINE, MUTED, TEXT, Theme
from engine.figures.roofline import GIGA, ends_of, intensity_of, place_name, slope_of, slopes_of
from engine.figures.svg import FONT, safe
from engine.figures.timing_chart import colour_of, place_of
from engine.figures.units import format_significant
from engine.operator_ladder.results import OperatorLadder, Roofline, Rung

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 80, 250, 56, 60
DASHES = ("2 4", "8 5", "none")
ROW = 24

Place = Callable[[float, float], tuple[float, float]]


def roofline_svg(
    ladder: OperatorLadder, roofline: Roofline, theme: Theme, order: Sequence[str], headline: Rung | None
) -> str:
    """GFLOP/s over operations per byte moved, log scales; numbers beside the points' names."""
    title = "Operations per second over operations per byte moved, log scales"
    place = _placed(*ends_of(ladder, roofline))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" font-size="12" role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{BACKGROUND[theme]}"/>',
            f'<text x="24" y="34" fill="{TEXT[theme]}" font-size="16" font-weight="700">{safe(title)}</text>',
            *_axes(ladder, roofline, place, theme),
            *_ceilings(ladder, roofline, place, slope_of(headline, ladder, roofline).working_set_bytes, theme),
            *_points(ladder, place, order, theme),
            "</svg>",
        ]
    )


def _placed(across: tuple[float, float], up: tuple[float, float]) -> Place:
    def place(intensity: float, rate: float) -> tuple[float, float]:
        right = math.log(intensity / across[0]) / math.log(across[1] / across[0])
        above = math.log(rate / up[0]) / math.log(up[1] / up[0])
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - above * (HEIGHT - TOP - BOTTOM)

    return place


def _axes(ladder: OperatorLadder, roofline: Roofline, place: Place, theme: Theme) -> Iterator[str]:
    (left, right), (low, high) = ends_of(ladder, roofline)
    for tick in _tens(left, right):
        x, _ = place(tick, low)
        yield _line((x, TOP), (x, HEIGHT - BOTTOM), LINE[theme], "none", 0.4)
        yield _words(x, HEIGHT - BOTTOM + 18, f"{tick:g}", MUTED[theme], "middle")
    for tick in _tens(low / GIGA, high / GIGA):
        _, y = place(left, tick * GIGA)
        yield _line((LEFT, y), (WIDTH - RIGHT, y), LINE[theme], "none", 0.4)
        yield _words(LEFT - 8, y + 4, f"{tick:g}", MUTED[theme], "end")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _words(middle, HEIGHT - 18, "operations per byte moved", TEXT[theme], "middle")
    yield _words(LEFT - 8, TOP - 6, "GFLOP/s", TEXT[theme], "end")


def _tens(low: float, high: float) -> list[float]:
    ticks = nice_ticks(low, high)
    return [tick for tick in ticks if math.log10(tick) % 1 == 0] or ticks


def _ceilings(ladder: OperatorLadder, roofline: Roofline, place: Place, taken: int, theme: Theme) -> Iterator[str]:
    (left, right), _ = ends_of(ladder, roofline)
    peak, slopes, beside = roofline.peak, slopes_of(roofline), WIDTH - RIGHT + 16
    for number, one in enumerate(slopes):
        is_taken = one.working_set_bytes == taken
        ridge = min(max(peak.per_s / one.per_s, left), right)
        ends = place(left, left * one.per_s), place(ridge, ridge * one.per_s)
        colour, dash, y = TEXT[theme] if is_taken else MUTED[theme], DASHES[number % 3], HEIGHT - BOTTOM - ROW * number
        yield _line(*ends, colour, dash, 2.5 if is_taken else 1.5)
        yield _line((beside, y - 4), (beside + 26, y - 4), colour, dash, 2.5 if is_taken else 1.5)
        words = f"{place_name(one)} {format_significant(one.per_s / GIGA)} GB/s{', taken' if is_taken else ''}"
        yield _words(beside + 34, y, words, colour, "start")
    for one in (one for one in roofline.ceilings if one.kind == "flops"):
        is_peak = one == peak
        start = place(min(max(one.per_s / slopes[0].per_s, left), right), one.per_s)
        end = place(right, one.per_s)
        yield _line(start, end, TEXT[theme], "none" if is_peak else "2 4", 2.5 if is_peak else 1)
        if is_peak:
            words = f"{one.name}: {format_significant(one.per_s / GIGA)} GFLOP/s"
            yield _words(end[0], end[1] - 8, words, TEXT[theme], "end")


def _points(ladder: OperatorLadder, place: Place, order: Sequence[str], theme: Theme) -> Iterator[str]:
    """Numbered, so that colour alone tells nothing."""
    timed = [rung for rung in ladder.rungs if rung.seconds]
    for number, rung in enumerate(timed):
        rate, colour = ladder.flops / (rung.seconds or 1.0), colour_of(place_of(rung.name, order), theme)
        x, y = place(intensity_of(rung, ladder), rate)
        at = TOP + 12 + ROW * number
        words = f"{rung.name}, {format_significant(rate / GIGA)} GFLOP/s"
        for centre in ((x, y), (WIDTH - RIGHT + 26, at - 4)):
            yield (
                f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="9" fill="{colour}" stroke="{TEXT[theme]}">'
                f"<title>{safe(words)}</title></circle>"
            )
            yield _words(centre[0], centre[1] + 4, str(number + 1), BACKGROUND[theme], "middle")
        yield _words(WIDTH - RIGHT + 42, at, words, TEXT[theme], "start")


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, dash: str, width: float) -> str:
    path = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
    return f'<path d="{path}" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}" fill="none"/>'


def _words(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{safe(text)}</text>'
