"""The strip of operations as one self-contained SVG text."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from engine.figures.format_strip import Cell, Row, Strip, fitted
from engine.figures.palette import BACKGROUND, LINE, MARKS, MUTED, TEXT, Theme, meaning
from engine.figures.svg import FONT, safe
from engine.figures.units import shorten

STEP, LINE_STEP, LABEL, TOP, MARGIN = 34, 36, 190, 34, 16
LETTERS = 6
"""Of an operation's name under its mark."""
EVENTS = ("format_lost", "format_gained")
"""Drawn in place of the format's own mark."""
GAP = 1.5
"""Columns between forward and backward."""
LEGEND_COLUMN, LEGEND_ROW = 230, 20


def strip_svg(strip: Strip, theme: Theme = "light", title: str = "Memory formats") -> str:
    """Rows of marked squares as on the page; the words of an operation are its `<title>`."""
    columns = strip.forward_columns + (GAP + strip.backward_columns if strip.backward_columns else 0)
    width = max(LABEL + STEP * columns, LABEL + 2 * LEGEND_COLUMN) + 2 * MARGIN
    per_line = max(1, int((width - 2 * MARGIN) // LEGEND_COLUMN))
    legend_lines = -(-len(strip.legend) // per_line)
    height = TOP + LINE_STEP * strip.lines + LEGEND_ROW * legend_lines + 2 * MARGIN
    body = [_text(LABEL, 12, "forward, top to bottom", MUTED[theme])]
    if strip.backward_columns:
        body.append(_text(_left(strip, "backward"), 12, "backward, bottom to top", MUTED[theme]))
    for row in strip.rows:
        body += _row(strip, row, theme)
    top = TOP + LINE_STEP * strip.lines + 6
    for number, key in enumerate(strip.legend):
        body += _legend(key, LEGEND_COLUMN * (number % per_line), top + LEGEND_ROW * (number // per_line), theme)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{-MARGIN} {-MARGIN} {width:.0f} {height:.0f}" font-family={quoteattr(FONT)} role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width:.0f}" height="{height:.0f}" fill="{BACKGROUND[theme]}"/>',
            *body,
            "</svg>",
        ]
    )


def _left(strip: Strip, side: str) -> float:
    return LABEL + (STEP * (strip.forward_columns + GAP) if side == "backward" else 0)


def _row(strip: Strip, row: Row, theme: Theme) -> list[str]:
    y = TOP + LINE_STEP * row.top
    times = f"  × {row.times}" if row.times > 1 else ""
    line = f'<path d="M0 {y - 3}H{_left(strip, "backward") + STEP * strip.backward_columns:.0f}" '
    parts = [f'{line}stroke="{LINE[theme]}" stroke-opacity=".35"/>'] if row.top else []
    parts.append(_text(0, y + 12, shorten(row.label, 28) + times, TEXT[theme]))
    return [*parts, *(_cell(strip, row, cell, theme) for cell in row.cells)]


def _cell(strip: Strip, row: Row, cell: Cell, theme: Theme) -> str:
    x, y = _left(strip, cell.side) + STEP * cell.column, TOP + LINE_STEP * (row.top + cell.line)
    event = next((key for key in cell.marks if key in EVENTS), "")
    scale = 2.0 if event else 0.7 if cell.is_view else 1.4
    what = meaning(event or cell.key)
    shapes = [_mark(what.mark, x + 8 - 5 * scale, y + 8 - 5 * scale, scale, what.accent(theme))]
    for key, dx, dy in (("format_copy", 17, -2), ("hidden_copy", 17, 8)):
        if key in cell.marks:
            shapes.append(_mark(meaning(key).mark, x + dx, y + dy, 0.75, meaning(key).accent(theme)))
    name = f'<text x="{x + 8:.0f}" y="{y + 26:.0f}" font-size="9" text-anchor="middle" fill="{MUTED[theme]}">'
    shapes.append(f"{name}{safe(fitted(strip.names[cell.operation], LETTERS))}</text>")
    return f"<g>{''.join(shapes)}<title>{safe(strip.words[cell.operation])}</title></g>"


def _mark(name: str, x: float, y: float, scale: float, colour: str) -> str:
    return (
        f'<path transform="translate({x:.1f} {y:.1f}) scale({scale})" d="{MARKS[name]}" fill="{colour}" '
        f'fill-rule="evenodd"/>'
    )


def _legend(key: str, x: float, y: float, theme: Theme) -> list[str]:
    what = meaning(key)
    return [_mark(what.mark, x, y, 1.0, what.accent(theme)), _text(x + 16, y + 9, what.label, TEXT[theme])]


def _text(x: float, y: float, text: str, colour: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="12" fill="{colour}">{safe(text)}</text>'
