"""How values are spread: a histogram of finite values, with zeros and non-finite ones told beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.figures.arrays import array
from engine.figures.chart_style import grid_colour, styled
from engine.figures.heat_map import figure_title, label_text
from engine.figures.palette import Theme, meaning
from engine.figures.units import format_count, format_significant
from engine.summary import HISTOGRAM_BINS, TensorSummary

HEIGHT = 240


def histogram(
    values: NDArray[Any] | Sequence[float],
    theme: Theme,
    *,
    title: str,
    colour: str = "gradient",
    x_title: str = "value",
    log_counts: bool = False,
    bins: int = HISTOGRAM_BINS,
) -> go.Figure:
    """The histogram of values in equal bins from smallest to largest; complex ones by magnitude.

    `colour` is a meaning of the palette. Non-finite values are counted in the title, zeros too.
    """
    flat = np.asarray(values).reshape(-1)
    flat = np.abs(flat) if np.iscomplexobj(flat) else flat.astype(np.float64)
    finite = flat[np.isfinite(flat)]
    told = _told(int((flat == 0).sum()), flat.size - finite.size)
    if not finite.size:
        return histogram_of_counts((), 0.0, 0.0, theme, title=title, note=told or "no values", colour=colour)
    low, high = float(finite.min()), float(finite.max())
    counts = (finite.size,) if low == high else tuple(np.histogram(finite, bins, (low, high))[0].tolist())
    return histogram_of_counts(
        counts, low, high, theme, title=title, note=told, colour=colour, x_title=x_title, log_counts=log_counts
    )


def histogram_of_counts(
    counts: Sequence[int],
    low: float,
    high: float,
    theme: Theme,
    *,
    title: str,
    note: str = "",
    colour: str = "gradient",
    x_title: str = "value",
    log_counts: bool = False,
) -> go.Figure:
    """The same from counts of equal bins between `low` and `high`; one count where all values are equal."""
    figure = go.Figure()
    if counts:
        _add_bars(figure, counts, low, high, meaning(colour).accent(theme))
    else:
        figure.add_annotation(text="no finite values", showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper")
    figure.update_xaxes(title=label_text(x_title, 60), gridcolor=grid_colour(theme), zeroline=False, nticks=7)
    figure.update_yaxes(type="log" if log_counts else "linear", gridcolor=grid_colour(theme), zeroline=False)
    figure.update_yaxes(title="elements", rangemode="tozero")
    return styled(
        figure,
        HEIGHT,
        theme,
        title=figure_title(title, note, theme),
        margin={"l": 8, "r": 8, "t": 56 if note else 40, "b": 44},
        bargap=0,
    )


def _add_bars(figure: go.Figure, counts: Sequence[int], low: float, high: float, colour: str) -> None:
    edges = np.linspace(low, high, len(counts) + 1) if low < high else np.array([low, high])
    words = [
        f"{format_significant(edges[i])} to {format_significant(edges[i + 1])}<br><b>{format_count(n)}</b> elements"
        for i, n in enumerate(counts)
    ]
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=list(counts),
        width=float(edges[1] - edges[0]) or max(abs(low) * 0.02, 0.02),
        marker={"color": colour, "line": {"width": 0}},
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
    )


def summary_histogram(
    summary: TensorSummary, theme: Theme, *, title: str, colour: str = "gradient", log_counts: bool = False
) -> go.Figure:
    """The histogram of a summarised tensor."""
    if summary.values is not None:
        return histogram(array(summary.values), theme, title=title, colour=colour, log_counts=log_counts)
    return histogram_of_counts(
        summary.histogram,
        summary.minimum,
        summary.maximum,
        theme,
        title=title,
        note=_told(summary.zeros, summary.non_finite),
        colour=colour,
        log_counts=log_counts,
    )


def _told(zeros: int, non_finite: int) -> str:
    parts = [f"{format_count(zeros)} exactly 0"] if zeros else []
    parts += [f"{format_count(non_finite)} not finite, not drawn"] if non_finite else []
    return " · ".join(parts)
