"""Timings as pictures: ratios with their band and every sample, and time over size with the crossover marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import CATEGORICAL, MUTED, TEXT, Theme
from engine.figures.units import format_count, format_significant, format_time
from engine.timing.crossover import quartiles
from engine.timing.spec import Comparison, Crossover, Ratio, Series

NO_DIFFERENCE = "no difference shown"
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
"""Never colour alone: a name keeps its symbol and dash in every chart."""
ROW_PIXELS = 52
CROSSOVER_ROWS = 4
LEAST_RANGE = 1.1
"""A ratio's axis reaches at least this far to both sides of 1, so that noise does not fill the picture."""


def verdict(ratio: Ratio) -> str:
    """ "21.3× slower than view", "1.4× faster than view", or that no difference is shown."""
    if not ratio.shows_a_difference:
        return NO_DIFFERENCE
    factor, word = (ratio.ratio, "slower") if ratio.ratio > 1 else (1 / ratio.ratio, "faster")
    return f"{format_significant(factor)}× {word} than {ratio.baseline}"


def ratio_chart(comparison: Comparison, theme: Theme = "light", *, order: Sequence[str] = ()) -> go.Figure:
    """One row per name after the first: time / time of the first, its median, 95 % band and every paired sample.

    Log axis, so that twice and half are equally far from 1. Grey and hollow where no difference is shown. A name keeps
    the colour of its place in `order`, whatever the first is; without, in the comparison.
    """
    figure = go.Figure()
    places = [place_of(ratio.name, order or comparison.names) for ratio in comparison.ratios]
    for number, ratio in enumerate(comparison.ratios):
        _add_ratio(figure, comparison, ratio, number, places[number], theme)
    shown = [v for r in comparison.ratios for v in (r.low, r.high, *comparison.paired_ratios(r.name))]
    low, high = min([1 / LEAST_RANGE, *shown]), max([LEAST_RANGE, *shown])
    ticks = nice_ticks(low, high)
    room = 0.03 * math.log10(high / low)
    figure.update_xaxes(
        type="log",
        range=[math.log10(low) - room, math.log10(high) + room],
        tickvals=ticks,
        ticktext=[f"{tick:g}×" for tick in ticks],
        title=f"time / time of {comparison.names[0]} ({comparison.clock} time, {comparison.rounds} rounds, log scale)",
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(comparison.ratios))),
        ticktext=[
            _row_title(ratio, verdict(ratio) + doubt(comparison, ratio), _ratio_colour(ratio, place, theme))
            for place, ratio in zip(places, comparison.ratios, strict=True)
        ],
        range=[len(comparison.ratios) - 0.4, -0.5],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    figure.add_vline(x=1.0, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    return styled(figure, 110 + ROW_PIXELS * len(comparison.ratios), theme)


def doubt(comparison: Comparison, ratio: Ratio) -> str:
    """Why no difference is shown although the band leaves 1 out, as ": ..."; "" where nothing needs saying."""
    if ratio.shows_a_difference or ratio.low <= 1 <= ratio.high:
        return ""
    if not ratio.is_by_chance:
        return ": nearer to 1 than 2 %"
    samples = comparison.paired_ratios(ratio.name)
    others = sum((sample > 1) != (ratio.ratio > 1) for sample in samples)
    return f": {others} of {len(samples)} rounds {'disagrees' if others == 1 else 'disagree'}"


def _row_title(ratio: Ratio, words: str, colour: str) -> str:
    return f'{escape(ratio.name)}<br><span style="color:{colour}">{escape(words)}</span>'


def _ratio_colour(ratio: Ratio, place: int, theme: Theme) -> str:
    return colour_of(place, theme) if ratio.shows_a_difference else MUTED[theme]


def _add_ratio(figure: go.Figure, comparison: Comparison, ratio: Ratio, row: int, place: int, theme: Theme) -> None:
    colour, symbol = _ratio_colour(ratio, place, theme), SYMBOLS[place % len(SYMBOLS)]
    samples = comparison.paired_ratios(ratio.name)
    name = f"<extra>{escape(ratio.name)}</extra>"
    figure.add_scatter(
        x=samples,
        y=[row + 0.2 + 0.1 * (number % 3) for number in range(len(samples))],
        mode="markers",
        marker={"color": colour, "size": 5, "opacity": 0.55, "symbol": symbol},
        customdata=[f"round {number + 1}" for number in range(len(samples))],
        hovertemplate="%{customdata}: %{x:.4g}×" + name,
    )
    figure.add_scatter(
        x=[ratio.low, ratio.high],
        y=[row, row],
        mode="lines",
        line={"color": colour, "width": 7},
        opacity=0.45,
    )
    figure.add_scatter(
        x=[ratio.ratio],
        y=[row],
        mode="markers",
        marker={
            "color": colour,
            "size": 13,
            "symbol": symbol if ratio.shows_a_difference else f"{symbol}-open",
            "line": {"width": 2, "color": colour},
        },
    )
    band = f"95 % band {format_significant(ratio.low)} to {format_significant(ratio.high)}"
    figure.data[-1].hovertemplate = f"%{{x:.4g}}×: {escape(verdict(ratio))}<br>{band}{name}"
    figure.data[-2].hovertemplate = f"{band}{name}"
    figure.update_traces(showlegend=False)


def format_size(size: float) -> str:
    """A size as a whole number with thousands apart, anything below 10 in three digits at most: 0.05, 2.5, 4 096."""
    return format_count(round(size)) if size >= 10 or size == int(size) else f"{size:.3g}"


def sweep_chart(
    series: Sequence[Series],
    *,
    x_title: str,
    crossovers: Sequence[Crossover] = (),
    x_text: Callable[[float], str] = format_size,
    y_title: str = "time per call",
    theme: Theme = "light",
    order: Sequence[str] = (),
) -> go.Figure:
    """Median time over size on log scales, one line per series with the middle half of its samples as a band.

    Crossovers are marked by a dashed line and say "estimated"; `x_text` words a size. A name keeps the colour, symbol
    and dash of its place in `order`; without, among the series.
    """
    figure = go.Figure()
    names = order or [one.name for one in series]
    for one in series:
        _add_series(figure, one, place_of(one.name, names), x_text, theme)
    sizes = [size for one in series for size in one.sizes]
    for number, crossover in enumerate(crossovers):
        late = crossover.size > math.sqrt(min(sizes) * max(sizes))
        _add_crossover(figure, crossover, number, x_text(crossover.size), late, theme)
    times = [end for one in series for samples in one.samples_s for end in quartiles(samples)]
    if sizes:
        across, up = nice_ticks(min(sizes), max(sizes)), nice_ticks(min(times), max(times))
        figure.update_xaxes(tickvals=across, ticktext=[x_text(tick) for tick in across])
        figure.update_yaxes(tickvals=up, ticktext=[format_time(tick) for tick in up], range=_height(times, crossovers))
    figure.update_xaxes(type="log", title=f"{x_title} (log scale)", gridcolor=grid_colour(theme), zeroline=False)
    figure.update_yaxes(type="log", title=f"{y_title} (log scale)", gridcolor=grid_colour(theme), zeroline=False)
    return styled(figure, 420, theme)


def _height(times: Sequence[float], crossovers: Sequence[Crossover]) -> list[float]:
    """Ends of the log axis, with room above the lines for the words of the crossovers."""
    low, high = math.log10(min(times)), math.log10(max(times))
    span = high - low + 0.1
    return [low - 0.05 * span, high + span * (0.05 + 0.1 * min(len(crossovers), CROSSOVER_ROWS))]


def _add_series(figure: go.Figure, one: Series, number: int, x_text: Callable[[float], str], theme: Theme) -> None:
    colour = colour_of(number, theme)
    bands = [quartiles(samples) for samples in one.samples_s]
    figure.add_scatter(
        x=[*one.sizes, *reversed(one.sizes)],
        y=[*(high for _, high in bands), *(low for low, _ in reversed(bands))],
        fill="toself",
        fillcolor=colour,
        opacity=0.2,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        legendgroup=one.name,
    )
    words = [
        f"{x_text(size)}: {format_time(median)}<br>middle half {format_time(low)} to {format_time(high)}"
        for size, median, (low, high) in zip(one.sizes, one.median_s, bands, strict=True)
    ]
    figure.add_scatter(
        x=list(one.sizes),
        y=list(one.median_s),
        name=escape(one.name),
        legendgroup=one.name,
        mode="lines+markers",
        line={"color": colour, "width": 2.5, "dash": DASHES[number % len(DASHES)]},
        marker={"size": 8, "symbol": SYMBOLS[number % len(SYMBOLS)]},
        customdata=words,
        hovertemplate="%{customdata}<extra>" + one.name + "</extra>",
    )


def _add_crossover(figure: go.Figure, crossover: Crossover, number: int, words: str, late: bool, theme: Theme) -> None:
    """`late`: in the right half of the picture, so that the words go to the left of the line."""
    figure.add_vline(x=crossover.size, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=math.log10(crossover.size),
        y=0.98 - 0.08 * (number % CROSSOVER_ROWS),
        yref="paper",
        text=escape(f"{crossover.faster_above} faster than {crossover.faster_below} from about {words} (estimated)"),
        showarrow=False,
        xanchor="right" if late else "left",
        xshift=-6 if late else 6,
        yanchor="top",
        font={"color": TEXT[theme], "size": 12},
    )


def place_of(name: str, order: Sequence[str]) -> int:
    """Where a name stands, which chooses its colour, symbol and dash; behind the last when it is not listed."""
    return order.index(name) if name in order else len(order)


def colour_of(number: int, theme: Theme) -> str:
    """The accent of line `number`; the same in every chart of a page."""
    return CATEGORICAL[number % len(CATEGORICAL)][theme == "dark"]
