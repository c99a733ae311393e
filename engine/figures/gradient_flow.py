"""The gradient's norm over depth as a chart, one line per run: forward order from left to right, logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.gradient_points import FlowPoint
from engine.figures.heat_map import label_text
from engine.figures.palette import CATEGORICAL, Theme, meaning
from engine.figures.replay_words import Flow
from engine.figures.units import format_significant

LISTED_PLACES = 26
"""Names under the axis; of more every n-th."""
MARKED = 60
"""Points up to which each has a dot."""
DIRECTION = "forward order: the input on the left, the loss on the right"
MARKS = (
    (Flow.ZERO, "zero_gradient", "line-ew", "exactly 0"),
    (Flow.NON_FINITE, "non_finite", "x", "non-finite"),
)


def gradient_flow(
    points: Sequence[FlowPoint],
    theme: Theme,
    *,
    pinned: Sequence[FlowPoint] = (),
    height: int = 340,
) -> go.Figure:
    """`points` in forward order, each with its step as custom data; `pinned` is run A, drawn dashed.

    A gradient that is 0 is on no logarithmic axis: it stands on the floor, one that is not finite at the top, each with
    its own mark. ReLUs with dead units have a ring.
    """
    figure = go.Figure()
    low, high = _range([*points, *pinned])
    if pinned:
        _line(figure, pinned, theme, "A", 1)
    _line(figure, points, theme, "this run" if pinned else "gradient norm", 0)
    for state, key, symbol, words in MARKS:
        marked = [(at, point) for at, point in enumerate(points) if point.state == state]
        level = low if state == Flow.ZERO else high
        _marks(figure, marked, [level] * len(marked), meaning(key).accent(theme), symbol, words)
    dead = [(at, point) for at, point in enumerate(points) if point.is_dead and point.state == Flow.FINITE]
    ring = meaning("zero_gradient").accent(theme)
    _marks(figure, dead, [point.norm for _, point in dead], ring, "circle-open", "dead ReLU units")
    styled(figure, height, theme, showlegend=True, hovermode="closest", clickmode="event+select")
    every = max(1, math.ceil(len(points) / LISTED_PLACES))
    ticks = range(0, len(points), every)
    names = [label_text(points[at].place, 22) for at in ticks]
    lines = {"gridcolor": grid_colour(theme), "zeroline": False}
    figure.update_xaxes(tickvals=list(ticks), ticktext=names, tickangle=-40, title=DIRECTION, **lines)
    figure.update_yaxes(type="log", title="norm of the gradient", exponentformat="power", **lines)
    figure.update_yaxes(range=[math.log10(low) - 0.1, math.log10(high) + 0.1])
    return figure


def _range(points: Sequence[FlowPoint]) -> tuple[float, float]:
    """A little below the smallest and above the largest norm over 0."""
    known = [point.norm for point in points if point.norm > 0 and math.isfinite(point.norm)]
    if not known:
        return 0.1, 10.0
    return max(min(known) / 3, 1e-320), min(max(known) * 3, 1e308)


def _line(figure: go.Figure, points: Sequence[FlowPoint], theme: Theme, name: str, number: int) -> None:
    norms = [point.norm if point.state == Flow.FINITE and point.norm > 0 else None for point in points]
    few = len(points) <= MARKED
    figure.add_scatter(
        x=list(range(len(points))),
        y=norms,
        mode="lines+markers" if few else "lines",
        name=name,
        line={
            "color": CATEGORICAL[number][0 if theme == "light" else 1],
            "dash": "dash" if number else "solid",
            "width": 2,
        },
        marker={"size": 7 if few else 3, "symbol": "diamond" if number else "circle"},
        **_told(points),
    )


def _told(points: Sequence[FlowPoint]) -> dict[str, Any]:
    words = []
    for point in points:
        dead = f"<br>{point.dead.words}" if point.dead and point.dead.dead else ""
        words.append(f"{label_text(point.place, 80)}<br><b>{format_significant(point.norm)}</b>{dead}")
    return {"customdata": [[p.step] for p in points], "text": words, "hovertemplate": "%{text}<extra></extra>"}


def _marks(
    figure: go.Figure,
    marked: Sequence[tuple[int, FlowPoint]],
    levels: Sequence[float],
    colour: str,
    symbol: str,
    name: str,
) -> None:
    if not marked:
        return
    figure.add_scatter(
        x=[at for at, _ in marked],
        y=list(levels),
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": 12, "color": colour, "line": {"width": 2.4, "color": colour}},
        **_told([point for _, point in marked]),
    )
