"""Linked cells as one self-contained SVG text, for export and the report kept for reading offline."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from engine.figures.cells import CellScene, Panel
from engine.figures.cells_encoding import NOTHING, shade_step
from engine.figures.cells_layout import LABEL_LINE, PAD, Place, line_label, place_panels, sheet_size
from engine.figures.palette import (
    ADDRESS_STEPS,
    BACKGROUND,
    LINE,
    MARKS,
    MUTED,
    SURFACE,
    TEXT,
    Theme,
    address_ramp,
    meaning,
    text_on,
)
from engine.figures.svg import FONT, safe

WORDED_CELLS = 2000
"""Up to so many cells each one carries its words as a title; beyond, cells of one colour are one path."""
LEGEND_HEIGHT = 34.0


def cells_svg(scene: CellScene, theme: Theme = "light") -> str:
    """A self-contained SVG of the scene, 1200 wide or as much as its widest panel needs; every text escaped."""
    places = place_panels(scene)
    width, height = sheet_size(places)
    height += LEGEND_HEIGHT
    worded = sum(len(panel.owns) for panel in scene.panels) <= WORDED_CELLS
    summary = ", ".join(f"{panel.title} ({len(panel.owns)} cells)" for panel in scene.panels)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family={quoteattr(FONT)} role="img">',
            f"<title>{safe(summary)}</title>",
            f"<defs>{''.join(_hatch(key, theme) for key in scene.marks)}</defs>",
            f'<rect width="100%" height="100%" fill="{BACKGROUND[theme]}"/>',
            *(part for place in places for part in _panel(place, theme, worded)),
            *_legend(scene, theme, height - LEGEND_HEIGHT),
            "</svg>",
        ]
    )


def _hatch(key: str, theme: Theme) -> str:
    if not meaning(key).hatched:
        return ""
    return (
        f'<pattern id="hatch-{key}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<path d="M0 0V7" stroke="{meaning(key).accent(theme)}" stroke-opacity=".6" stroke-width="1.6"/></pattern>'
    )


def _text(x: float, y: float, text: str, size: float, colour: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{colour}"{extra}>{safe(text)}</text>'


def _panel(place: Place, theme: Theme, worded: bool) -> Iterator[str]:
    y = place.y + 13
    for line in place.title:
        yield _text(place.x, y, line, 13, TEXT[theme], ' font-weight="600"')
        y += 18
    for line in place.caption:
        yield _text(place.x, y, line, 12, MUTED[theme])
        y += 16
    if not place.panel.owns:
        yield _text(place.x, place.body_y + 22, "no elements", 12, MUTED[theme])
        return
    yield from _labels(place, theme)
    yield from _fills(place, theme, worded)
    yield from _marks(place, theme)
    yield from _values(place, theme)
    if place.panel.tick_every:
        width = 1.8 if place.cell_height > 11 else 1
        yield f'<path d="{_ticks(place)}" stroke="{TEXT[theme]}" stroke-width="{width}"/>'


def _labels(place: Place, theme: Theme) -> Iterator[str]:
    panel = place.panel
    across = max(1, math.ceil((max(map(len, panel.column_labels), default=0) * 6.6 + 6) / place.cell_width))
    down = max(1, math.ceil(13 / place.cell_height))
    for block in range(place.blocks):
        x, y = place.origin(block)
        if panel.block_labels:
            yield _text(x + place.left, y + 12, panel.block_labels[block], 11, MUTED[theme])
        if place.top > place.label_top:
            for column in range(0, min(place.columns, len(panel.owns)), across):
                middle = x + place.left + (column + 0.5) * place.cell_width
                label = panel.column_labels[column]
                yield _text(middle, y + place.top - LABEL_LINE + 11, label, 11, MUTED[theme], ' text-anchor="middle"')
        if place.left:
            for line in range(0, min(place.block_rows, place.rows - block * place.block_rows), down):
                label = _row_label(place, block * place.block_rows + line)
                middle = y + place.top + (line + 0.5) * place.cell_height + 4
                yield _text(x + place.left - 7, middle, label, 11, MUTED[theme], ' text-anchor="end"')


def _row_label(place: Place, row: int) -> str:
    labels = place.panel.row_labels
    return line_label(place.panel, row * place.columns) if place.is_wrapped else labels[row % len(labels)]


def _fills(place: Place, theme: Theme, worded: bool) -> Iterator[str]:
    """Every cell with its words, or one path per colour."""
    panel = place.panel
    gap = 2.0 if place.cell_height >= 19 else 1.0 if place.cell_height >= 8 else 0.0
    size = f"h{place.cell_width - gap:g}v{place.cell_height - gap:g}h{gap - place.cell_width:g}z"
    edge = f' stroke="{LINE[theme]}" stroke-opacity=".55"' if gap else ' shape-rendering="crispEdges"'
    paths: dict[str, list[str]] = defaultdict(list)
    for index in range(len(panel.owns)):
        x, y = place.cell(index)
        fill = _fill(panel, index, theme)
        if worded:
            words = f"<title>{safe(panel.words[index])}</title>" if panel.words else ""
            yield f'<path d="M{x:g} {y:g}{size}" fill="{fill}"{edge}>{words}</path>'
        else:
            paths[fill].append(f"M{x:g} {y:g}{size}")
    for fill, pieces in paths.items():
        yield f'<path d="{"".join(pieces)}" fill="{fill}"{edge}/>'


def _fill(panel: Panel, index: int, theme: Theme) -> str:
    step = shade_step(panel.shades[index]) if panel.shades else NOTHING
    if step != NOTHING:
        return address_ramp(theme)[step]
    mark = panel.marks[index] if panel.marks else ""
    return meaning(mark).fill(theme) if mark else SURFACE[theme]


def _marks(place: Place, theme: Theme) -> Iterator[str]:
    """Stripes over hatched cells; the mark's shape in the corner of large cells, a dot of its colour in small ones."""
    for index, mark in enumerate(place.panel.marks):
        if not mark:
            continue
        what = meaning(mark)
        x, y = place.cell(index)
        if what.hatched:
            sides = f'width="{place.cell_width - 1:g}" height="{place.cell_height - 1:g}"'
            yield f'<rect x="{x:g}" y="{y:g}" {sides} fill="url(#hatch-{mark})"/>'
        if place.cell_height >= 14:
            size = min(9.0, place.cell_height * 0.34)
            left = x + place.cell_width - size - 4
            ground = f'width="{size + 3:g}" height="{size + 3:g}" fill="{BACKGROUND[theme]}"'
            yield f'<rect x="{left - 1.5:g}" y="{y + 0.5:g}" {ground}/>'
            at = f"translate({left:g} {y + 2:g}) scale({size / 10:.2f})"
            yield f'<path transform="{at}" d="{MARKS[what.mark]}" fill="{what.accent(theme)}" fill-rule="evenodd"/>'
        elif not what.hatched:
            dot = max(2.0, place.cell_height * 0.4)
            left, top = x + (place.cell_width - dot) / 2, y + (place.cell_height - dot) / 2
            yield f'<rect x="{left:g}" y="{top:g}" width="{dot:g}" height="{dot:g}" fill="{what.accent(theme)}"/>'


def _values(place: Place, theme: Theme) -> Iterator[str]:
    panel = place.panel
    if place.cell_height < 19 or not any(panel.values):
        return
    longest = min(9, max(map(len, panel.values)))
    size = max(8.5, min(13.0, place.cell_height * 0.38, (place.cell_width - 7) / (longest * 0.58)))
    for index, value in enumerate(panel.values):
        if value and len(value) * size * 0.58 <= place.cell_width - 4:
            x, y = place.cell(index)
            step = shade_step(panel.shades[index]) if panel.shades else NOTHING
            ink = TEXT[theme] if step == NOTHING else text_on(address_ramp(theme)[step])
            middle = x + place.cell_width / 2 - 1, y + place.cell_height / 2 + size * 0.36
            yield _text(*middle, value, size, ink, ' text-anchor="middle"')


def _ticks(place: Place) -> str:
    reach = 3 if place.cell_height > 11 else 0
    cells = len(place.panel.owns)
    pieces = []
    for number in range(0, cells + 1, place.panel.tick_every):
        ends_line = number > 0 and number % place.columns == 0
        x, y = place.cell(number - 1 if ends_line else min(number, cells - 1))
        x += place.cell_width if ends_line or number == cells else 0.0
        pieces.append(f"M{x - 1:g} {y - reach:g}v{place.cell_height + 2 * reach - 1:g}")
    return "".join(pieces)


def _legend(scene: CellScene, theme: Theme, y: float) -> Iterator[str]:
    x = PAD
    if scene.has_shades:
        yield _text(x, y + 12, scene.scale[0], 11.5, TEXT[theme])
        x += len(scene.scale[0]) * 6.4 + 8
        for step, colour in enumerate(address_ramp(theme)):
            left = x + step * 120 / ADDRESS_STEPS
            yield f'<rect x="{left:.2f}" y="{y + 2:g}" width="1.4" height="12" fill="{colour}"/>'
        yield _text(x + 128, y + 12, scene.scale[1], 11.5, TEXT[theme])
        x += 128 + len(scene.scale[1]) * 6.4 + 24
    for key in scene.marks:
        what = meaning(key)
        yield f'<rect x="{x:g}" y="{y + 1:g}" width="14" height="14" fill="{what.fill(theme)}"/>'
        at = f"translate({x + 2:g} {y + 3:g})"
        yield f'<path transform="{at}" d="{MARKS[what.mark]}" fill="{what.accent(theme)}" fill-rule="evenodd"/>'
        yield _text(x + 20, y + 12, what.label, 11.5, TEXT[theme])
        x += 20 + len(what.label) * 6.4 + 24
    if any(panel.tick_every for panel in scene.panels):
        yield f'<path d="M{x + 6:g} {y:g}v16" stroke="{TEXT[theme]}" stroke-width="2"/>'
        yield _text(x + 16, y + 12, scene.tick_words, 11.5, TEXT[theme])
