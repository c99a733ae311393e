"""Time of a sparse product against the dense one over density, with its 95 % band and break-even."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.palette import TEXT, Theme
from engine.figures.sparse_weights import LAYOUT_NUMBER, density_text, finish, layout_colour
from engine.figures.timing_chart import DASHES, SYMBOLS, verdict
from engine.figures.units import format_count, format_significant, format_time
from engine.sparse.matrix import LayoutName
from engine.sparse.results import BreakEven, MatmulTiming, TimingPoint
from engine.timing.spec import Ratio


def draw_timing(timing: MatmulTiming, theme: Theme = "light") -> go.Figure:
    """Ratio of times (below 1 the sparse product is faster) over density, one line per layout, on log scales."""
    figure = go.Figure()
    for found in timing.break_even:
        _add_layout(figure, timing, found.layout, theme)
    ratios = [r for point in timing.points for r in point.comparison.ratios]
    low, high = min([0.5, *(r.low for r in ratios)]), max([2.0, *(r.high for r in ratios)])
    ticks = nice_ticks(low, high)
    figure.add_hline(y=1.0, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    figure.update_yaxes(
        type="log",
        range=[math.log10(low) - 0.05, math.log10(high) + 0.05],
        tickvals=ticks,
        ticktext=[f"{tick:g}×" for tick in ticks],
        title="time / time of dense (log scale)",
    )
    crossing = sorted((f for f in timing.break_even if f.density is not None), key=lambda f: f.density or 0.0)
    for number, found in enumerate(crossing, start=1):
        _add_break_even(figure, found, number, number == len(crossing), theme)
    _add_sides(figure, theme)
    return finish(figure, [point.density for point in timing.points], theme)


def _ratio(point: TimingPoint, layout: LayoutName) -> Ratio:
    return next(ratio for ratio in point.comparison.ratios if ratio.name == layout)


def _add_layout(figure: go.Figure, timing: MatmulTiming, layout: LayoutName, theme: Theme) -> None:
    points = [p for p in timing.points if layout in p.comparison.names]
    ratios = [_ratio(point, layout) for point in points]
    across = [point.density for point in points]
    number, colour, name = LAYOUT_NUMBER[layout], layout_colour(layout, theme), layout.upper()
    figure.add_scatter(
        x=[*across, *reversed(across)],
        y=[*(r.high for r in ratios), *(r.low for r in reversed(ratios))],
        fill="toself",
        fillcolor=colour,
        opacity=0.2,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
    )
    figure.add_scatter(
        x=across,
        y=[ratio.ratio for ratio in ratios],
        name=name,
        legendgroup=name,
        mode="lines+markers",
        line={"color": colour, "width": 2.5, "dash": DASHES[number]},
        marker={"size": 8, "symbol": SYMBOLS[number]},
        customdata=[_words(point, ratio) for point, ratio in zip(points, ratios, strict=True)],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


def _words(point: TimingPoint, ratio: Ratio) -> str:
    comparison = point.comparison
    times = ", ".join(f"{n} {format_time(comparison.seconds_of(n))}" for n in ("dense", ratio.name))
    band = f"95 % band {format_significant(ratio.low)} to {format_significant(ratio.high)}"
    return f"{density_text(point.density)}, {format_count(point.nnz)} entries<br>{verdict(ratio)}<br>{band}<br>{times}"


def _add_break_even(figure: go.Figure, found: BreakEven, number: int, is_last: bool, theme: Theme) -> None:
    """`is_last`: the words go below to the right, where no line passes."""
    if found.density is None:
        return
    colour = layout_colour(found.layout, theme)
    figure.add_scatter(
        x=[found.density],
        y=[1.0],
        mode="markers",
        marker={"size": 16, "symbol": "circle-open", "color": colour, "line": {"width": 2.5}},
        showlegend=False,
        hovertemplate=f"{break_even_words(found).replace('**', '')}<extra></extra>",
    )
    figure.add_annotation(
        x=math.log10(found.density),
        y=0.0,
        text=f"{found.layout.upper()} ≈ {density_text(found.density)} (estimated)",
        showarrow=True,
        arrowhead=0,
        arrowcolor=colour,
        ax=40 if is_last else -60,
        ay=44 if is_last else -24 - 26 * (number % 4),
        xanchor="left" if is_last else "right",
        font={"color": TEXT[theme], "size": 13},
    )


def _add_sides(figure: go.Figure, theme: Theme) -> None:
    for y, anchor, text in ((1.0, "bottom", "slower than dense ↑"), (1.0, "top", "faster than dense ↓")):
        figure.add_annotation(
            x=0.01,
            xref="paper",
            y=math.log10(y),
            text=text,
            showarrow=False,
            xanchor="left",
            yanchor=anchor,
            font={"color": TEXT[theme], "size": 12},
        )


def break_even_words(found: BreakEven) -> str:
    """The break-even of one layout as a sentence."""
    name = found.layout.upper()
    if found.density is None or found.between is None:
        said = {
            "always faster": "is faster than dense at every density measured",
            "always slower": "is slower than dense at every density measured",
        }.get(found.verdict, "shows no clear crossing: some bands straddle 1")
        return f"**{name}** {said}."
    low, high = (density_text(density) for density in found.between)
    return (
        f"**{name}** is faster than dense up to a density of about **{density_text(found.density)}**, estimated "
        f"between {low} (measured faster) and {high} (measured slower)."
    )
