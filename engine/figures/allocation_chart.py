"""Fresh against reused outputs over their size: bytes per second, and the page faults that explain them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean, median

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import TEXT, Theme
from engine.figures.timing_chart import DASHES, SYMBOLS, colour_of
from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.timing.results import FEW_PAGES, MEBIBYTE, Allocated, Allocations, fault_state

NAMES = ("fresh output", "reused output")
THRESHOLD_MIB = 32
CLOSE = 1.15


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
    places, words = size_ticks(sizes)
    figure.update_xaxes(type="log", tickvals=places, ticktext=words, gridcolor=grid_colour(theme))
    figure.update_yaxes(rangemode="tozero", gridcolor=grid_colour(theme), zeroline=False)
    figure.update_yaxes(title="GB/s", row=1, col=1)
    figure.update_yaxes(title="page faults a call", row=2, col=1)
    figure.update_xaxes(title="size of the output in MiB (log scale)", row=2, col=1)
    if sizes[0] < THRESHOLD_MIB < sizes[-1]:
        figure.add_vline(x=THRESHOLD_MIB, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    return styled(figure, 410, theme)


def size_ticks(sizes: Sequence[float]) -> tuple[list[float], list[str]]:
    """(places, words) of an axis; neighbours too close for two labels share one between them, "31, 33"."""
    groups: list[list[float]] = []
    for size in sizes:
        if groups and size / groups[-1][-1] < CLOSE:
            groups[-1].append(size)
        else:
            groups.append([size])
    return [geometric_mean(group) for group in groups], [", ".join(f"{s:g}" for s in group) for group in groups]


def cliff_words(found: Allocations) -> str:
    """What was seen of malloc's threshold, in one sentence."""
    if found.cliff is not None:
        below, above = map(format_bytes, found.cliff)
        return (
            f"Up to {below} a fresh output reuses pages the process already has; from {above} on nearly every page of "
            f"it is given anew by the system on every call."
        )
    states = [fault_state(point, found.page_bytes) for point in found.points]
    if set(states) == {"kept"}:
        return "At no size were pages given anew: a fresh output reuses pages the process already has."
    if set(states) == {"faulted"}:
        return "At every size nearly every page of a fresh output is given anew by the system on every call."
    parts = []
    for state, word in (("faulted", "faulted"), ("partly faulted", "partly faulted"), ("kept", "not")):
        sizes = [format_bytes(p.output_bytes) for p, one in zip(found.points, states, strict=True) if one == state]
        parts += [f"{word} at {' and '.join([', '.join(sizes[:-1]), sizes[-1]] if sizes[1:] else sizes)}"] * bool(sizes)
    return f"No one size divides them: {'; '.join(parts)}. It depends on the heap's state."


def as_found_words(found: Allocations) -> str:
    """What the same calls faulted with the heap as the process happened to have it, "" where it was the same."""
    other = [
        f"{format_count(round(point.faults_as_found))} faults a call at {format_bytes(point.output_bytes)}"
        for point in found.points
        if abs(point.faults_as_found - point.fresh_faults) > FEW_PAGES * point.output_bytes / found.page_bytes
    ]
    if not other:
        return ""
    return f"With the heap as this process happened to have it, before it was settled: {', '.join(other)}."


def allocation_rows(found: Allocations) -> tuple[tuple[str, ...], ...]:
    """One row of words per size: time and GB/s of both, faults, and the allocator's share."""
    return tuple(
        (
            format_bytes(point.output_bytes),
            *(format_time(seconds) for seconds in point.comparison.median_s),
            *(f"{format_significant(bandwidth(point, place) / 1e9)}" for place in (0, 1)),
            format_count(round(point.fresh_faults)),
            format_count(round(point.reused_faults)),
            format_count(round(point.faults_as_found)),
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
    "faults as found",
    "allocator's share",
)
