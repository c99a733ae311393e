"""The bytes a claim counted, as bars of one length scale."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from engine.claims.outcome import Count, Measured
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import TEXT, Theme, meaning
from engine.figures.units import format_bytes, format_exact_bytes

ROW_PIXELS = 34
FEWEST = 2


def byte_counts(measured: Measured) -> list[Count]:
    """The counts that are bytes."""
    return [count for count in measured.counts if count.unit == "bytes"]


def bytes_chart(measured: Measured, theme: Theme = "light") -> go.Figure | None:
    """One bar per count of bytes; None where there are fewer than two to compare."""
    counts = byte_counts(measured)
    if len(counts) < FEWEST or not any(count.value for count in counts):
        return None
    figure = go.Figure()
    figure.add_bar(
        x=[count.value for count in counts],
        y=[escape(count.name) for count in counts],
        orientation="h",
        text=[format_bytes(count.value) for count in counts],
        textposition="auto",
        textfont={"color": TEXT[theme]},
        marker={"color": meaning("saved").fill(theme), "line": {"color": meaning("saved").accent(theme), "width": 1.5}},
        customdata=[format_exact_bytes(int(count.value)) for count in counts],
        hovertemplate="%{y}: %{customdata}<extra></extra>",
        cliponaxis=False,
    )
    figure.update_xaxes(showticklabels=False, gridcolor=grid_colour(theme), zeroline=False, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    height = 24 + ROW_PIXELS * len(counts)
    return styled(figure, height, theme, margin={"l": 8, "r": 16, "t": 8, "b": 8}, bargap=0.3, showlegend=False)
