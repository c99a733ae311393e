"""The board as a chart to click on: one mark per tensor, a legend entry per state."""

from __future__ import annotations

from html import escape
from typing import Any

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.diagnostics_board import LABELS, MEANINGS, Board
from engine.figures.palette import LINE, MUTED, PALETTE, TEXT, Theme
from engine.figures.units import shorten

ROW, MARGIN = 27, 74
LONGEST_LABEL = 30
SYMBOLS = {
    "gradient": "triangle-down",
    "passes": "diamond-open",
    "zero": "line-ew-open",
    "none": "circle-open",
    "non_finite": "x",
    "not_asked": "circle",
}
SMALL = 6


def draw_board(board: Board, selected: str, theme: Theme, scale: float = 1.0) -> go.Figure:
    """The figure; `customdata` of every point is the name of its tensor."""
    figure = go.Figure()
    for state in board.states:
        figure.add_trace(_marks(board, state, theme, scale))
    _ring(figure, board, selected, theme, scale)
    _bands(figure, board, theme)
    height = round((ROW * max(2, len(board.rows)) + MARGIN) * scale)
    styled(figure, height, theme, margin={"l": 8, "r": 8, "t": 66, "b": 8}, hovermode="closest", dragmode=False)
    legend = {"orientation": "h", "x": 0, "xref": "container", "y": 1, "yanchor": "top", "yref": "container"}
    figure.update_layout(legend=legend, font={"size": 13 * scale})
    _axes(figure, board, theme)
    return figure


def _marks(board: Board, state: Any, theme: Theme, scale: float) -> go.Scatter:
    cells = [cell for cell in board.cells if cell.state == state]
    accent = PALETTE[MEANINGS[state]].accent(theme)
    size = (SMALL if state == "not_asked" else 13) * scale
    return go.Scatter(
        x=[cell.column for cell in cells],
        y=[cell.row for cell in cells],
        mode="markers+text",
        name=LABELS[state],
        text=[f"  {escape(cell.text)}" for cell in cells],
        textposition="middle right",
        textfont={"color": TEXT[theme] if state != "not_asked" else MUTED[theme], "size": 12.5 * scale},
        customdata=[cell.name for cell in cells],
        hovertext=[escape(_wrapped(cell.hover)).replace("\n", "<br>") for cell in cells],
        hoverinfo="text",
        marker={"symbol": SYMBOLS[state], "size": size, "color": accent, "line": {"width": 2.4, "color": accent}},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
    )


def _wrapped(text: str, width: int = 80) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += f"{word} "
    return "\n".join([*lines, line])


def _ring(figure: go.Figure, board: Board, selected: str, theme: Theme, scale: float) -> None:
    """Around the tensor whose trace is shown."""
    cell = next((one for one in board.cells if one.name == selected), None)
    if cell is not None:
        figure.add_shape(
            type="rect",
            x0=cell.column - 0.12,
            x1=cell.column + 0.82,
            y0=cell.row - 0.46,
            y1=cell.row + 0.46,
            line={"color": TEXT[theme], "width": 1.6 * scale},
        )


def _bands(figure: go.Figure, board: Board, theme: Theme) -> None:
    """Every second row a little darker; the row of the origin in the colour of what is not finite."""
    for row in range(len(board.rows)):
        if row == board.origin or row % 2:
            colour = PALETTE["non_finite"].accent(theme) if row == board.origin else LINE[theme]
            opacity = 0.16 if row == board.origin else 0.1
            place = {"x0": 0, "x1": 1, "xref": "paper", "y0": row - 0.5, "y1": row + 0.5}
            figure.add_shape(type="rect", **place, fillcolor=colour, opacity=opacity, line_width=0, layer="below")


def _axes(figure: go.Figure, board: Board, theme: Theme) -> None:
    figure.update_xaxes(
        tickvals=[number + 0.3 for number in range(len(board.columns))],
        ticktext=[escape(shorten(column, 16)) for column in board.columns],
        range=[-0.25, max(2, len(board.columns)) - 0.1],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        tickvals=list(range(len(board.rows))),
        ticktext=[_row_title(board, number, theme) for number in range(len(board.rows))],
        range=[len(board.rows) - 0.4, -0.6],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )


def _row_title(board: Board, row: int, theme: Theme) -> str:
    words = escape(shorten(board.rows[row], LONGEST_LABEL))
    if row != board.origin:
        return words
    return f'<span style="color:{PALETTE["non_finite"].accent(theme)}"><b>starts here ▸ {words}</b></span>'
