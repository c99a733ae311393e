"""A measured operator ladder as pictures: bars of time with their speedup, and errors in units of eps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import MUTED, TEXT, Theme
from engine.figures.timing_chart import NO_DIFFERENCE, SYMBOLS, colour_of, place_of
from engine.figures.units import format_significant, format_time
from engine.operator_ladder.results import Rung
from engine.timing.comparison import Comparison, Ratio
from engine.timing.crossover import quartiles

ROW_PIXELS = 44
PLOT_CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}, "displayModeBar": "hover"}
COMPARED_WITH = "compared with this"
"""Beside the rung that every speedup is against."""
LEAST_ERROR = 0.05
"""Eps; what is smaller is drawn there."""


def speedup_words(ratio: Ratio) -> str:
    """ "5.3× faster (4.9 to 5.8)", "1.2× slower (…)", or that no difference is shown."""
    if not ratio.shows_a_difference:
        return NO_DIFFERENCE
    if ratio.ratio > 1:
        return f"{format_significant(ratio.ratio)}× slower ({_span(ratio.low, ratio.high)})"
    return f"{format_significant(1 / ratio.ratio)}× faster ({_span(1 / ratio.high, 1 / ratio.low)})"


def _span(low: float, high: float) -> str:
    return f"{format_significant(low)}\u2013{format_significant(high)}"


def ladder_chart(
    comparison: Comparison, theme: Theme, *, rungs: Sequence[str], order: Sequence[str], bounds_s: float | None
) -> go.Figure:
    """One bar per rung, median time from zero, the middle half of the samples as a whisker; speedups against the first.

    Rows as in `rungs`, colours as in `order`. `bounds_s` is the time that the roofline allows: a dashed line.
    """
    figure = go.Figure()
    names = sorted(comparison.names, key=lambda name: place_of(name, rungs))
    words = {ratio.name: speedup_words(ratio) for ratio in comparison.ratios} | {comparison.names[0]: COMPARED_WITH}
    for row, name in enumerate(names):
        _add_bar(figure, comparison, name, row, colour_of(place_of(name, order), theme), words[name])
    longest = max(quartiles(samples)[1] for samples in comparison.samples_s)
    ticks = [tick for tick in _linear_ticks(longest) if tick <= longest]
    figure.update_xaxes(
        range=[0, longest * 1.22],
        tickvals=ticks,
        ticktext=[format_time(tick) for tick in ticks],
        title=f"{comparison.clock} time per call, {comparison.rounds} rounds",
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[_row_title(name, words[name], theme) for name in names],
        range=[len(names) - 0.45, -0.55],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    if bounds_s is not None:
        figure.add_vline(x=bounds_s, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
        figure.add_annotation(
            x=bounds_s, y=1, yref="paper", yanchor="bottom", xanchor="left", showarrow=False, text="roofline allows"
        )
    return styled(figure, 110 + ROW_PIXELS * max(4, len(names)), theme, showlegend=False, bargap=0.35)


def _row_title(name: str, words: str, theme: Theme) -> str:
    return f'{escape(name)}<br><span style="color:{MUTED[theme]};font-size:11px">{escape(words)}</span>'


def _add_bar(figure: go.Figure, comparison: Comparison, name: str, row: int, colour: str, words: str) -> None:
    samples = comparison.samples_s[comparison.names.index(name)]
    median_s, (low, high) = comparison.seconds_of(name), quartiles(samples)
    figure.add_bar(
        x=[median_s],
        y=[row],
        orientation="h",
        marker={"color": colour},
        error_x={"array": [high - median_s], "arrayminus": [median_s - low], "thickness": 1.5, "width": 4},
        hovertemplate=(
            f"{format_time(median_s)}, middle half {format_time(low)} to {format_time(high)}<br>{escape(words)}"
            f"<extra>{escape(name)}</extra>"
        ),
    )
    figure.add_annotation(
        x=max(high, median_s), y=row, text=format_time(median_s), showarrow=False, xanchor="left", xshift=6
    )


def _linear_ticks(highest: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10(highest / 3))
    step *= next(factor for factor in (1, 2, 5, 10) if highest / (step * factor) <= 5)
    return [step * number for number in range(6)]


def error_chart(rungs: Sequence[Rung], dtype: str, theme: Theme, *, order: Sequence[str]) -> go.Figure:
    """Largest error of the result and of the gradients per rung, in eps of the dtype, on a log axis."""
    figure = go.Figure()
    shown = [rung for rung in rungs if rung.error_eps is not None or rung.gradient_error_eps is not None]
    values = [value for rung in shown for value in (rung.error_eps, rung.gradient_error_eps) if value is not None]
    for row, rung in enumerate(shown):
        colour, symbol = colour_of(place_of(rung.name, order), theme), SYMBOLS[place_of(rung.name, order) % 8]
        for value, mark, what in (
            (rung.error_eps, symbol, "result"),
            (rung.gradient_error_eps, f"{symbol}-open", "gradients"),
        ):
            if value is not None:
                _add_error(figure, value, row, what, mark, colour)
    low, high = min([LEAST_ERROR, *(max(v, LEAST_ERROR) for v in values)]), max([10.0, *values])
    ticks = nice_ticks(low, high)
    figure.add_vline(x=1.0, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    figure.update_xaxes(
        type="log",
        range=[math.log10(low) - 0.1, math.log10(high) + 0.2],
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
        title=f"largest error / (eps of {dtype} × largest float64 value), log scale",
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(shown))),
        ticktext=[escape(rung.name) for rung in shown],
        range=[len(shown) - 0.5, -0.5],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    return styled(figure, 110 + 36 * max(3, len(shown)), theme, showlegend=False)


def _add_error(figure: go.Figure, value: float, row: int, what: str, symbol: str, colour: str) -> None:
    figure.add_scatter(
        x=[max(value, LEAST_ERROR)],
        y=[row],
        mode="markers+text",
        text=[what],
        textposition="top center" if what == "result" else "bottom center",
        textfont={"size": 10},
        marker={"color": colour, "size": 12, "symbol": symbol, "line": {"width": 2, "color": colour}},
        hovertemplate=f"{what}: {format_significant(value)} eps<extra></extra>",
    )
