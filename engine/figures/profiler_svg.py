"""Who freed it, and self time, as files."""

from __future__ import annotations

from collections import Counter, defaultdict

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import MUTED, TEXT, Theme, meaning
from engine.figures.profiler_flow import ALIVE, Band, band_words, bands
from engine.figures.profiler_rows import labels_of, short
from engine.figures.profiler_time import self_rows
from engine.figures.svg import safe
from engine.figures.units import format_time
from engine.profiler.spec import Profiled

WIDTH, SIDE, TOP, THICK, GAP = 960, 300, 64, 14, 20
TALL = 420
"""Pixels of all bytes together, on either side."""
ROW_PIXELS = 27

Ends = dict[str, tuple[float, float]]
"""Name -> top and height in pixels."""


def flow_svg(profiled: Profiled, theme: Theme = "light") -> str:
    """Bytes as bands from the row that allocated them, on the left, to the row that freed them."""
    drawn = bands(profiled)
    sides = (_stacked(drawn, 0), _stacked(drawn, 1))
    height = max((top + size for side in sides for top, size in side.values()), default=TOP) + 24
    body = [svg_text(20, 30, "Who freed it", TEXT[theme], 17, weight=700)]
    body.append(svg_text(SIDE - 10, 54, "allocated by", MUTED[theme], 12, anchor="end"))
    body.append(svg_text(WIDTH - SIDE + 10, 54, "freed by", MUTED[theme], 12))
    used = (defaultdict[str, float](float), defaultdict[str, float](float))
    for band in drawn:
        body.append(_ribbon(band, sides, used, _scale(drawn), theme))
    allocated = meaning("allocated").accent(theme)
    for name, (top, size) in sides[0].items():
        body.append(_end(SIDE, top, size, allocated))
        body.append(svg_text(SIDE - 10, top + size / 2 + 4, short(name), TEXT[theme], 12, anchor="end"))
    for name, (top, size) in sides[1].items():
        body.append(_end(WIDTH - SIDE - THICK, top, size, _fate(name, theme)))
        body.append(svg_text(WIDTH - SIDE + 10, top + size / 2 + 4, short(name), TEXT[theme], 12))
    return svg_page(WIDTH, height, "Who freed it", body, theme)


def _scale(drawn: list[Band]) -> float:
    """Pixels per byte."""
    return TALL / max(sum(band[3] for band in drawn), 1)


def _stacked(drawn: list[Band], side: int) -> Ends:
    """The names of one side below each other, in the order of the bands."""
    sizes = Counter[str]()
    for band in drawn:
        sizes[str(band[side])] += band[3]
    found, at = Ends(), float(TOP)
    for name, size in sizes.items():
        found[name] = at, size * _scale(drawn)
        at += size * _scale(drawn) + GAP
    return found


def _fate(name: str, theme: Theme) -> str:
    return meaning("temporary" if name == ALIVE else "freed").accent(theme)


def _end(x: float, top: float, size: float, colour: str) -> str:
    return f'<rect x="{x}" y="{top:.1f}" width="{THICK}" height="{max(size, 1):.1f}" fill="{colour}"/>'


def _ribbon(
    band: Band, sides: tuple[Ends, Ends], used: tuple[dict[str, float], dict[str, float]], scale: float, theme: Theme
) -> str:
    size, tops = max(band[3] * scale, 0.5), list[float]()
    for side in (0, 1):
        name = str(band[side])
        tops.append(sides[side][name][0] + used[side][name])
        used[side][name] += band[3] * scale
    left, right, middle = SIDE + THICK, WIDTH - SIDE - THICK, WIDTH / 2
    start, end = tops
    path = (
        f"M{left} {start:.1f}C{middle} {start:.1f} {middle} {end:.1f} {right} {end:.1f}V{end + size:.1f}"
        f"C{middle} {end + size:.1f} {middle} {start + size:.1f} {left} {start + size:.1f}Z"
    )
    words = safe(band_words(band))
    return f'<path d="{path}" fill="{_fate(band[1], theme)}" fill-opacity=".35"><title>{words}</title></path>'


def self_svg(profiled: Profiled, theme: Theme = "light") -> str:
    """Self CPU time by row, longest first, with its share of the whole."""
    rows, names = self_rows(profiled), labels_of(profiled.rows)
    total = sum(row.self_cpu_time_s for row in profiled.rows) or 1.0
    longest = max((row.self_cpu_time_s for _, row in rows), default=1.0)
    colour, body = meaning("operation").accent(theme), [svg_text(20, 30, "Self CPU time", TEXT[theme], 17, weight=700)]
    for number, (place, row) in enumerate(rows):
        y, width = 52 + ROW_PIXELS * number, row.self_cpu_time_s / longest * (WIDTH - SIDE - 160)
        words = f"{format_time(row.self_cpu_time_s)}, {row.self_cpu_time_s / total:.1%}"
        body.append(svg_text(SIDE - 10, y + 17, short(names[place]), TEXT[theme], 12, anchor="end"))
        body.append(f'<rect x="{SIDE}" y="{y + 3}" width="{width:.1f}" height="{ROW_PIXELS - 7}" fill="{colour}"/>')
        body.append(svg_text(SIDE + width + 8, y + 17, words, TEXT[theme], 12))
    said = "Of all rows, the profiler's own work included."
    body.append(svg_text(20, 76 + ROW_PIXELS * len(rows), said, MUTED[theme], 12))
    return svg_page(WIDTH, 96 + ROW_PIXELS * len(rows), "Self CPU time", body, theme)
