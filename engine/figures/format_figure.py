"""The strip of operations as an interactive Plotly figure."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.format_strip import Cell, Row, Strip, fitted
from engine.figures.palette import BACKGROUND, LINE, MUTED, Theme, meaning

SYMBOLS = {"channels_last": "square", "contiguous": "circle", "other_strides": "diamond", "no_image": "hexagon"}
OVERLAYS = {
    "format_lost": "x",
    "format_gained": "triangle-up",
    "format_copy": "square-open",
    "hidden_copy": "circle-open",
}
OVERLAY_SIZES = {"format_lost": 21, "format_gained": 19, "format_copy": 21, "hidden_copy": 19}
LINE_PIXELS, NAMED_LINE_PIXELS = 25, 36
READABLE_WIDTH, CHARACTER_WIDTH = 800, 6.4
"""Pixels of the picture in a window 1280 wide, and of a letter of the names under the marks."""
FEWEST_LETTERS = 4
LABEL_LETTERS = 24
LABEL_PIXELS, HOVER_PIXELS = 12, 12
GAP = 1.2
"""Columns between forward and backward."""


def draw_strip(strip: Strip, theme: Theme = "light", scale: float = 1.0) -> go.Figure:
    """One marker per operation by format, views small; losses, gains and copies drawn over; words on hover.

    `scale` enlarges marks, rows and letters, of which fewer then fit under a mark.
    """
    figure, room = go.Figure(), room_for_names(strip, scale)
    placed = [(row, cell) for row in strip.rows for cell in row.cells]
    for key, symbol in SYMBOLS.items():
        _add(figure, strip, [p for p in placed if p[1].key == key], key, symbol, theme)
    for key, symbol in OVERLAYS.items():
        _add(figure, strip, [p for p in placed if key in p[1].marks], key, symbol, theme)
    if room:
        _add_names(figure, strip, placed, room, theme)
    _add_labels(figure, strip, theme, NAMED_LINE_PIXELS if room else LINE_PIXELS)
    return _enlarged(figure, scale)


def _enlarged(figure: go.Figure, scale: float) -> go.Figure:
    """Every size that does not follow from the window's width."""
    for trace in figure.data:
        if trace.mode == "text":
            trace.textfont.size *= scale
        else:
            size = trace.marker.size
            trace.marker.size = size * scale if isinstance(size, int | float) else [one * scale for one in size]
    for annotation in figure.layout.annotations:
        annotation.font.size *= scale
    figure.update_layout(
        height=figure.layout.height * scale,
        font_size=LABEL_PIXELS * scale,
        legend_font_size=LABEL_PIXELS * scale,
        hoverlabel_font_size=HOVER_PIXELS * scale,
    )
    return figure.update_yaxes(tickfont_size=LABEL_PIXELS * scale)


def room_for_names(strip: Strip, scale: float = 1.0) -> int:
    """Letters that fit under a mark; 0 where fewer than four would."""
    columns = max(18.0, strip.forward_columns + GAP + strip.backward_columns)
    letters = int(READABLE_WIDTH / columns / (CHARACTER_WIDTH * scale))
    return letters if letters >= FEWEST_LETTERS else 0


def _add_names(figure: go.Figure, strip: Strip, placed: list[tuple[Row, Cell]], room: int, theme: Theme) -> None:
    figure.add_scatter(
        x=[x_of(strip, cell) for _, cell in placed],
        y=[row.top + cell.line + 0.42 for row, cell in placed],
        mode="text",
        text=[escape(fitted(strip.names[cell.operation], room)) for _, cell in placed],
        textfont={"size": 10, "color": MUTED[theme]},
        hoverinfo="skip",
        showlegend=False,
    )


def x_of(strip: Strip, cell: Cell) -> float:
    """Column of a cell, backward ones behind the forward's."""
    return cell.column + (strip.forward_columns + GAP if cell.side == "backward" else 0)


def _add(figure: go.Figure, strip: Strip, placed: list[tuple[Row, Cell]], key: str, symbol: str, theme: Theme) -> None:
    if not placed:
        return
    overlay = key in OVERLAYS
    what = meaning(key)
    figure.add_scatter(
        x=[x_of(strip, cell) for _, cell in placed],
        y=[row.top + cell.line for row, cell in placed],
        mode="markers",
        name=what.label,
        customdata=[cell.operation for _, cell in placed],
        hovertext=[escape(strip.words[cell.operation]).replace("\n", "<br>") for _, cell in placed],
        hoverinfo="skip" if overlay else "text",
        marker={
            "symbol": symbol,
            "size": OVERLAY_SIZES[key] if overlay else [8 if cell.is_view else 14 for _, cell in placed],
            "color": what.accent(theme),
            "line": {
                "color": BACKGROUND[theme] if key in ("format_lost", "format_gained") else what.accent(theme),
                "width": 2 if overlay else 0,
            },
        },
    )


def _add_labels(figure: go.Figure, strip: Strip, theme: Theme, line_pixels: int) -> None:
    labels = [_cut(row.label) + (f"  × {row.times}" if row.times > 1 else "") for row in strip.rows]
    figure.update_yaxes(
        tickvals=[row.top for row in strip.rows],
        ticktext=[escape(label) for label in labels],
        range=[strip.lines - 0.4, -0.9],
        showgrid=False,
        zeroline=False,
        automargin=True,
        fixedrange=True,
    )
    end = strip.forward_columns + (GAP + strip.backward_columns if strip.backward_columns else 0)
    figure.update_xaxes(visible=False, range=[-0.8, max(end, 18) + 0.2], fixedrange=True)
    for row in strip.rows[1:]:
        figure.add_hline(y=row.top - 0.5, line={"color": LINE[theme], "width": 0.5}, opacity=0.35)
    _add_heading(figure, 0, "forward ↓", theme)
    if strip.backward_columns:
        _add_heading(figure, strip.forward_columns + GAP, "backward ↑", theme)
    styled(
        figure,
        96 + line_pixels * (strip.lines + 1),
        theme,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemclick": False, "itemdoubleclick": False},
        hoverlabel={"align": "left", "font": {"family": "monospace", "size": HOVER_PIXELS}},
    )


def _cut(label: str) -> str:
    return label if len(label) <= LABEL_LETTERS else f"{label[: LABEL_LETTERS - 1]}…"


def _add_heading(figure: go.Figure, x: float, text: str, theme: Theme) -> None:
    figure.add_annotation(
        x=x - 0.5, y=-0.75, text=text, showarrow=False, xanchor="left", font={"color": MUTED[theme], "size": 12}
    )
