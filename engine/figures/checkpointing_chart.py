"""Bytes against cost: every policy a labelled mark, the front a line, forecasts hollow."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from engine.checkpointing.policy import Policy
from engine.figures.chart_style import grid_colour, styled
from engine.figures.checkpointing_axes import BAND_HALF, Axis, bands_of, bytes_axis, cost_axis, cost_words, front_lines
from engine.figures.checkpointing_places import Box, place_labels
from engine.figures.checkpointing_points import (
    ACROSS_WORDS,
    UP_WORDS,
    Across,
    Point,
    Up,
    meaning_of,
    pareto_front,
    short_label,
)
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import MINUS, format_bytes, format_exact_bytes

HEIGHT = 460
INSIDE = (435.0, 385.0)
"""Pixels of the plot itself in a window 1280 wide, for the places of labels."""
SYMBOLS = {"saved": "circle", "checkpoint": "square", "moved_away": "diamond", "gradients_differ": "x"}


def policies_chart(
    measured: Sequence[Point],
    forecast: Sequence[Point],
    across: Across,
    up: Up,
    theme: Theme = "light",
    *,
    chosen: Policy | None = None,
    before: Sequence[Point] = (),
    height: int = HEIGHT,
) -> go.Figure:
    """`measured` filled and `forecast` hollow, `before` those of run A, grey; `chosen` has a ring."""
    figure = go.Figure()
    everything = [*measured, *forecast, *before]
    x, y = bytes_axis(everything), cost_axis(everything, up)
    _add_front(figure, pareto_front(measured or forecast, up), theme, estimated=not measured)
    _add_before(figure, before, up, theme)
    named = measured or forecast
    base = next((point.x_bytes for point in named if point.policy == Policy()), None)
    for point in forecast:
        _add_mark(figure, point, up, theme, base, chosen)
    for point in measured:
        _add_mark(figure, point, up, theme, base, chosen)
    lines = [*bands_of(named, x, y, *INSIDE), *front_lines(pareto_front(named, up), x, y, *INSIDE)]
    _add_labels(figure, named, x, y, theme, chosen, lines)
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    across_title, up_title = (
        f"bytes {ACROSS_WORDS[across]}" if across == "held_bytes" else ACROSS_WORDS[across],
        UP_WORDS[up],
    )
    figure.update_xaxes(range=[x.low, x.high], tickvals=x.ticks, ticktext=x.words, title=across_title, **grid)
    figure.update_yaxes(range=[y.low, y.high], tickvals=y.ticks, ticktext=y.words, title=up_title, **grid)
    figure.update_traces(showlegend=False)
    return styled(figure, height, theme, margin={"l": 8, "r": 16, "t": 12, "b": 48}, clickmode="event+select")


def _add_front(figure: go.Figure, front: Sequence[Point], theme: Theme, *, estimated: bool) -> None:
    if len(front) < 2:
        return
    figure.add_scatter(
        x=[point.x_bytes for point in front],
        y=[point.y for point in front],
        mode="lines",
        line={"color": LINE[theme], "width": 1.6, "shape": "hv", "dash": "dot" if estimated else "solid"},
        hoverinfo="skip",
    )


def _add_before(figure: go.Figure, before: Sequence[Point], up: Up, theme: Theme) -> None:
    if not before:
        return
    figure.add_scatter(
        x=[point.x_bytes for point in before],
        y=[point.y for point in before],
        mode="markers",
        marker={"symbol": "circle-open", "size": 8, "color": MUTED[theme], "line": {"width": 1.4}},
        opacity=0.75,
        customdata=[
            f"A: {escape(point.label)}, {format_bytes(point.x_bytes)}, {cost_words(point.y, up)}" for point in before
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _add_mark(figure: go.Figure, point: Point, up: Up, theme: Theme, base: int | None, chosen: Policy | None) -> None:
    key = meaning_of(point)
    colour, is_chosen = meaning(key).accent(theme), point.policy == chosen and not point.estimated
    symbol = SYMBOLS[key] + ("-open" if point.estimated else "")
    band = {}
    if point.low is not None and point.high is not None:
        up_to, down_to = [max(0.0, point.high - point.y)], [max(0.0, point.y - point.low)]
        band = {
            "error_y": {"array": up_to, "arrayminus": down_to, "color": colour, "thickness": 1.6, "width": BAND_HALF}
        }
    figure.add_scatter(
        x=[point.x_bytes],
        y=[point.y],
        mode="markers",
        marker={
            "symbol": symbol,
            "size": 20 if point.estimated else 12,
            "color": colour,
            "line": {"width": 3 if is_chosen else 1.6, "color": TEXT[theme] if is_chosen else colour},
        },
        customdata=[point.label],
        hovertemplate=hover_words(point, up, base) + "<extra></extra>",
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        **band,
    )


def hover_words(point: Point, up: Up, base: int | None) -> str:
    """Label, exact bytes with their distance to off, cost with its band."""
    lines = [f"<b>{escape(point.label)}</b>" + (" (estimated)" if point.estimated else "")]
    lines.append(format_exact_bytes(point.x_bytes) + share_words(point.x_bytes, base))
    cost = cost_words(point.y, up)
    if point.low is not None and point.high is not None:
        cost += f", 95 % band {cost_words(point.low, up)} to {cost_words(point.high, up)}"
    lines += [] if point.estimated and up == "time" else [cost]
    lines += ["gradients differ from off"] if point.differs else []
    return "<br>".join(lines)


def share_words(value: int, base: int | None) -> str:
    """ ", −72.4 % of off", "" without a base."""
    if not base or value == base:
        return ""
    change = (value - base) / base
    return f", {'+' if change > 0 else MINUS}{abs(change):.1%} against off"


def _add_labels(
    figure: go.Figure,
    points: Sequence[Point],
    x: Axis,
    y: Axis,
    theme: Theme,
    chosen: Policy | None,
    lines: Sequence[Box],
) -> None:
    width, height = INSIDE
    marks = [(x.share(point.x_bytes) * width, (1 - y.share(point.y)) * height) for point in points]
    labels = [short_label(point.policy, point.blocks) for point in points]
    places = place_labels(marks, labels, width, height, lines)
    for point, label, place in zip(points, labels, places, strict=True):
        text = escape(label)
        figure.add_annotation(
            x=point.x_bytes,
            y=point.y,
            text=f"<b>{text}</b>" if point.policy == chosen else text,
            showarrow=False,
            xanchor=place.anchor,
            xshift=place.right,
            yshift=-place.down,
            font={"size": 12, "color": TEXT[theme]},
        )
