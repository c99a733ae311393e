"""The board as one self-contained SVG text."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from engine.figures.diagnostics_board import LABELS, MEANINGS, Board, Cell
from engine.figures.palette import BACKGROUND, LINE, MARKS, MUTED, PALETTE, TEXT, Theme
from engine.figures.svg import FONT, safe
from engine.figures.units import shorten

ROW, COLUMN, LABEL, TOP, MARGIN = 24, 120, 250, 44, 20


def board_svg(board: Board, title: str, theme: Theme = "light") -> str:
    """Rows, columns, a mark per tensor and the legend below."""
    width = LABEL + COLUMN * max(1, len(board.columns)) + (260 if board.origin is not None else 0) + 2 * MARGIN
    height = TOP + ROW * len(board.rows) + 24 * (1 + len(board.states) // 4) + 2 * MARGIN
    body = [_text(0, 12, title, 14, 650, TEXT[theme])]
    body += [
        _text(LABEL + COLUMN * i, 34, shorten(one, 16), 11.5, 600, MUTED[theme]) for i, one in enumerate(board.columns)
    ]
    for number, row in enumerate(board.rows):
        y = TOP + ROW * number
        body.append(f'<path d="M0 {y + ROW - 4}H{width - 2 * MARGIN}" stroke="{LINE[theme]}" stroke-opacity=".25"/>')
        body.append(_text(0, y + 13, shorten(row, 38), 12, 400, TEXT[theme]))
    body += [_cell(cell, theme) for cell in board.cells]
    if board.origin is not None:
        x, y = LABEL + COLUMN * len(board.columns), TOP + ROW * board.origin + 13
        body.append(_text(x, y, f"◀ starts here: {board.origin_words}", 12, 600, PALETTE["non_finite"].accent(theme)))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="{-MARGIN} {-MARGIN} {width} {height}" font-family={quoteattr(FONT)} role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}" fill="{BACKGROUND[theme]}"/>',
            *body,
            *_legend(board, theme),
            "</svg>",
        ]
    )


def _cell(cell: Cell, theme: Theme) -> str:
    x, y = LABEL + COLUMN * cell.column, TOP + ROW * cell.row
    what = PALETTE[MEANINGS[cell.state]]
    words = _text(x + 17, y + 13, cell.text, 12, 500, TEXT[theme])
    return f"<g><title>{safe(cell.hover)}</title>{_mark(what.mark, x, y + 3, what.accent(theme))}{words}</g>"


def _legend(board: Board, theme: Theme) -> list[str]:
    parts, y = [], TOP + ROW * len(board.rows) + 16
    for number, state in enumerate(board.states):
        x, line = 190 * (number % 4), y + 22 * (number // 4)
        what = PALETTE[MEANINGS[state]]
        parts.append(_mark(what.mark, x, line - 9, what.accent(theme)))
        parts.append(_text(x + 16, line, LABELS[state], 11.5, 400, TEXT[theme]))
    return parts


def _mark(mark: str, x: float, y: float, colour: str) -> str:
    return f'<path transform="translate({x} {y})" d="{MARKS[mark]}" fill="{colour}" fill-rule="evenodd"/>'


def _text(x: float, y: float, text: str, size: float, weight: int, colour: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}">{safe(text)}</text>'
