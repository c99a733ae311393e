"""Fresh against reused outputs over their size: bytes per second, and the page faults that explain them."""

from __future__ import annotations

from statistics import median

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import TEXT, Theme
from engine.figures.timing_chart import DASHES, SYMBOLS, colour_of
from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.timing.results import MEBIBYTE, Allocated, Allocations

NAMES = ("fresh output", "reused output")
THRESHOLD_MIB = 32


def bandwidth(point: Allocated, place: int) -> float:
    """Bytes moved per second of processor time, median of the rounds."""
    return point.moved_bytes / point.comparison.median_s[place]


def allocation_chart(found: Allocations, theme: Theme = "light") -> go.Figure:
    """Above GB/s of both ways over the size of the output, below the page faults of one call; 32 MiB is marked."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.6, 0.4])
    sizes = [point.output_bytes / MEBIBYTE for point in found.points]
    for place, name in enumerate(NAMES):
        rates = [bandwidth(point, place) / 1e9 for point in found.points]
        faults = [median(point.comparison.faults[place]) for point in found.points]
        words = [
            f"{format_bytes(point.output_bytes)}: {format_significant(rate)} GB/s, "
            f"{format_time(point.comparison.median_s[place])}, {format_count(round(fault))} faults a call"
            for point, rate, fault in zip(found.points, rates, faults, strict=True)
        ]
        for row, values in enumerate((rates, faults), 1):
            figure.add_scatter(
                x=sizes,
                y=values,
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                mode="lines+markers",
                line={"color": colour_of(place, theme), "width": 2.5, "dash": DASHES[place]},
                marker={"size": 9, "symbol": SYMBOLS[place]},
                customdata=words,
                hovertemplate="%{customdata}<extra>" + name + "</extra>",
                row=row,
                col=1,
            )
    figure.update_xaxes(type="log", tickvals=sizes, ticktext=[f"{s:g}" for s in sizes], gridcolor=grid_colour(theme))
    figure.update_yaxes(rangemode="tozero", gridcolor=grid_colour(theme), zeroline=False)
    figure.update_yaxes(title="GB/s", row=1, col=1)
    figure.update_yaxes(title="page faults a call", row=2, col=1)
    figure.update_xaxes(title="size of the output in MiB (log scale)", row=2, col=1)
    if sizes[0] < THRESHOLD_MIB < sizes[-1]:
        figure.add_vline(x=THRESHOLD_MIB, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    return styled(figure, 410, theme)


def cliff_words(found: Allocations) -> str:
    """What was seen of malloc's threshold, in one sentence."""
    if found.cliff is not None:
        below, above = map(format_bytes, found.cliff)
        return (
            f"Up to {below} a fresh output reuses pages the process already has; from {above} on nearly every page of "
            f"it is given anew by the system on every call."
        )
    faults = [point.fresh_faults for point in found.points]
    if all(fault < 16 for fault in faults):
        return "No size faulted its pages in anew: the allocator kept every block it was given back."
    return "Pages were faulted in without a clear threshold between these sizes; see the faults per call."


def allocation_rows(found: Allocations) -> tuple[tuple[str, ...], ...]:
    """One row of words per size: time and GB/s of both, faults, and the allocator's share."""
    return tuple(
        (
            format_bytes(point.output_bytes),
            *(format_time(seconds) for seconds in point.comparison.median_s),
            *(f"{format_significant(bandwidth(point, place) / 1e9)}" for place in (0, 1)),
            format_count(round(point.fresh_faults)),
            format_count(round(point.reused_faults)),
            share_words(point),
        )
        for point in found.points
    )


def share_words(point: Allocated) -> str:
    """The allocator's share of the time, where the two ways differ beyond doubt."""
    if not point.comparison.ratios[0].shows_a_difference:
        return "no difference shown"
    return f"{point.allocator_share:.0%}"


ALLOCATION_COLUMNS = (
    "output",
    "fresh",
    "reused",
    "fresh GB/s",
    "reused GB/s",
    "fresh faults",
    "reused faults",
    "allocator's share",
)
