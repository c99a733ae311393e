"""Bytes of every layout against density, with the point where dense becomes smaller."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import CATEGORICAL, TEXT, Theme
from engine.figures.timing_chart import DASHES, SYMBOLS
from engine.figures.units import format_bytes, format_count, format_exact_bytes
from engine.sparse.matrix import LAYOUTS
from engine.sparse.results import WeightCurve, Weights

LAYOUT_NUMBER = {layout: number for number, layout in enumerate(("dense", *LAYOUTS))}
"""Colour, dash and symbol of a layout: the same in every chart of the page."""


def layout_colour(layout: str, theme: Theme) -> str:
    """The accent of a layout."""
    return CATEGORICAL[LAYOUT_NUMBER[layout] % len(CATEGORICAL)][theme == "dark"]


def draw_weights(weights: Weights, theme: Theme = "light") -> go.Figure:
    """Log-log lines of total bytes; dense is flat, a ring marks the last density at which a layout is smaller."""
    figure = go.Figure()
    densities = sorted({point.nnz / weights.cells for curve in weights.curves for point in curve.points if point.nnz})
    _add_dense(figure, weights, densities, theme)
    for curve in weights.curves:
        if curve.error is None:
            _add_curve(figure, curve, weights, theme)
    _add_labels(figure, weights, theme)
    sizes = [point.bytes for curve in weights.curves for point in curve.points if point.bytes]
    low, high = min([weights.dense_bytes, *sizes]), max([weights.dense_bytes, *sizes])
    ups = [1024**i * step for i in range(5) for step in (1, 4, 16, 64, 256) if low / 4 <= 1024**i * step <= high * 4]
    figure.update_yaxes(type="log", title="bytes of all arrays (log scale)", tickvals=ups)
    figure.update_yaxes(ticktext=[format_bytes(size) for size in ups])
    return finish(figure, densities, theme)


def finish(figure: go.Figure, densities: list[float], theme: Theme) -> go.Figure:
    """The density axis, and the look that all charts over density share."""
    ticks = nice_ticks(min(densities), max(densities)) if densities else []
    grid = grid_colour(theme)
    figure.update_xaxes(type="log", title="density: share of cells that are stored (log scale)", tickvals=ticks)
    figure.update_xaxes(ticktext=[density_text(tick) for tick in ticks], gridcolor=grid, zeroline=False)
    figure.update_yaxes(gridcolor=grid, zeroline=False)
    return styled(figure, 440, theme)


def density_text(density: float) -> str:
    """A share in percent, three digits at most: 0.0015 -> "0.15 %"."""
    return f"{density * 100:.3g} %"


def _add_dense(figure: go.Figure, weights: Weights, densities: list[float], theme: Theme) -> None:
    figure.add_scatter(
        x=densities,
        y=[weights.dense_bytes] * len(densities),
        name="dense",
        mode="lines",
        line={"color": layout_colour("dense", theme), "width": 2.5},
        hovertemplate=f"{format_exact_bytes(weights.dense_bytes)}<extra>dense</extra>",
    )


def _add_curve(figure: go.Figure, curve: WeightCurve, weights: Weights, theme: Theme) -> None:
    number, colour = LAYOUT_NUMBER[curve.layout], layout_colour(curve.layout, theme)
    points = [point for point in curve.points if point.nnz]
    name = curve.layout.upper()
    figure.add_scatter(
        x=[point.nnz / weights.cells for point in points],
        y=[point.bytes for point in points],
        name=name,
        legendgroup=name,
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": DASHES[number]},
        marker={"size": 7, "symbol": SYMBOLS[number]},
        visible="legendonly" if _twin(curve, weights) else True,
        customdata=[
            f"{format_count(point.nnz)} entries, {density_text(point.nnz / weights.cells)}<br>"
            f"{format_exact_bytes(point.bytes)}<br>" + "<br>".join(f"{n}: {format_bytes(b)}" for n, b in point.members)
            for point in points
        ],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )
    if 0 < curve.most_nnz < weights.cells and not _twin(curve, weights):
        _add_crossover(figure, curve, weights, colour)


def _twin(curve: WeightCurve, weights: Weights) -> bool:
    """Whether a column layout has just the bytes of its row layout, so that its line would hide the other."""
    row_layout = {"csc": "csr", "bsc": "bsr"}.get(curve.layout)
    return any(other.layout == row_layout and _sizes(other) == _sizes(curve) for other in weights.curves)


def _sizes(curve: WeightCurve) -> list[int]:
    return [point.bytes for point in curve.points]


def _add_crossover(figure: go.Figure, curve: WeightCurve, weights: Weights, colour: str) -> None:
    density = curve.most_nnz / weights.cells
    name = curve.layout.upper()
    figure.add_scatter(
        x=[density],
        y=[weights.dense_bytes],
        mode="markers",
        marker={"size": 15, "symbol": "circle-open", "color": colour, "line": {"width": 2.5}},
        hovertemplate=f"{name} is smaller than dense up to {density_text(density)}<extra></extra>",
        legendgroup=name,
        showlegend=False,
    )


def _add_labels(figure: go.Figure, weights: Weights, theme: Theme) -> None:
    """Words at the rings: the first to the left, the last below to the right, what is between further up."""
    ringed = [c for c in weights.curves if 0 < c.most_nnz < weights.cells and not _twin(c, weights)]
    ringed.sort(key=lambda curve: curve.most_nnz)
    for place, curve in enumerate(ringed):
        side = -1 if place == 0 else 1 if place == len(ringed) - 1 else 0
        density = curve.most_nnz / weights.cells
        figure.add_annotation(
            x=math.log10(density),
            y=math.log10(weights.dense_bytes),
            text=f"{curve.layout.upper()} to {density_text(density)}",
            showarrow=True,
            arrowhead=0,
            arrowcolor=layout_colour(curve.layout, theme),
            ax=side * 44,
            ay={-1: -30, 0: -30 - 24 * place, 1: 34}[side],
            xanchor={-1: "right", 0: "center", 1: "left"}[side],
            font={"color": TEXT[theme], "size": 13},
        )
