"""The roofline of this machine with every rung as a point (Williams, Waterman and Patterson, 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import MUTED, TEXT, Theme
from engine.figures.timing_chart import SYMBOLS, colour_of, place_of
from engine.figures.units import format_bytes, format_significant, format_time
from engine.operator_ladder.results import Ceiling, OperatorLadder, Roofline, Rung

GIGA = 1e9
DASHES_OF_LINES, MARKS_OF_LINES = ("dot", "dash", "solid"), ("····", "– –", "——")


def intensity_of(rung: Rung, ladder: OperatorLadder) -> float:
    """Operations per byte: those of the formula over the bytes that the rung's operations move."""
    return ladder.flops / (rung.traffic_bytes or ladder.least_bytes)


def slope_of(rung: Rung | None, ladder: OperatorLadder, roofline: Roofline) -> Ceiling:
    """The bandwidth that bounds a rung: by what the operation touches, and by how much of it is allocated anew."""
    fresh = rung.peak_bytes if rung else None
    return roofline.bandwidth(ladder.least_bytes, ladder.output_bytes if fresh is None else fresh)


def allowed_s(rung: Rung | None, ladder: OperatorLadder, roofline: Roofline) -> float:
    """Seconds that the roofline allows: bytes moved at the bandwidth of `slope_of`, or operations at the peak."""
    moved = (rung.traffic_bytes if rung else None) or ladder.least_bytes
    return max(moved / slope_of(rung, ladder, roofline).per_s, ladder.flops / roofline.peak.per_s)


def is_compute_bound(rung: Rung | None, ladder: OperatorLadder, roofline: Roofline) -> bool:
    """Whether the flat roof is reached before the slope."""
    return allowed_s(rung, ladder, roofline) == ladder.flops / roofline.peak.per_s


def place_name(one: Ceiling) -> str:
    """Where bytes were moved: "L2 cache", "last cache", "memory"."""
    return one.name.partition(", ")[2]


def roof_of(rung: Rung | None, ladder: OperatorLadder, roofline: Roofline) -> str:
    """Which ceiling bounds a rung: the place of its slope, or "peak"."""
    return "peak" if is_compute_bound(rung, ladder, roofline) else place_name(slope_of(rung, ladder, roofline))


def roof_words(rung: Rung, ladder: OperatorLadder, roofline: Roofline) -> str:
    """Which ceiling was taken for a rung and why, as a sentence."""
    slope, peak = slope_of(rung, ladder, roofline), roofline.peak
    if is_compute_bound(rung, ladder, roofline):
        return f"Roof of {rung.name}: {peak.name}, {format_significant(peak.per_s / GIGA)} GFLOP/s."
    moved, fresh = format_bytes(ladder.least_bytes), format_bytes(rung.peak_bytes or 0)
    held = roofline.bandwidth(ladder.least_bytes)
    if held != slope:
        why = f"a call touches {moved}, which {place_name(held)} holds, but allocates {fresh} anew: that is in no cache"
    elif place_name(slope) == "memory":
        why = f"a call touches {moved}, more than the caches were measured to hold"
    else:
        why = f"a call touches {moved}, no more than the {format_bytes(slope.working_set_bytes)} it was measured with"
    return f"Roof of {rung.name}: {place_name(slope)}, {format_significant(slope.per_s / GIGA)} GB/s; {why}."


def roofline_chart(
    ladder: OperatorLadder,
    roofline: Roofline,
    theme: Theme,
    *,
    order: Sequence[str],
    height: int = 380,
    headline: Rung | None = None,
) -> go.Figure:
    """Achieved operations per second over operations per byte, log scales, below the ceilings measured.

    The same operations count for every rung; one that moves more bytes stands further left. The slope taken for
    `headline` is marked.
    """
    figure = go.Figure()
    timed = [rung for rung in ladder.rungs if rung.seconds]
    slopes, ((low, high), (bottom, top)) = slopes_of(roofline), ends_of(ladder, roofline)
    taken = slope_of(headline, ladder, roofline)
    for number, one in enumerate(slopes):
        _add_slope(figure, one, roofline, (low, high), number, theme)
    _add_words(figure, slopes, taken, theme)
    _add_peaks(figure, roofline, high, theme)
    for rung in timed:
        _add_point(figure, rung, ladder, roofline, place_of(rung.name, order), theme)
    _scale(figure, (low, high), (bottom, top), theme)
    return styled(figure, height, theme, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})


def ends_of(ladder: OperatorLadder, roofline: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """(lowest, highest) operations per byte, and operations per second, of the picture."""
    timed = [rung for rung in ladder.rungs if rung.seconds]
    across = [intensity_of(rung, ladder) for rung in timed]
    slowest = min(one.per_s for one in slopes_of(roofline))
    ridge = roofline.peak.per_s / slowest
    low, high = min([*across, ridge / 30]) / 3, max([*across, ridge]) * 4
    up = [ladder.flops / rung.seconds for rung in timed if rung.seconds]
    return (low, high), (min([*up, low * slowest]) / 3, roofline.peak.per_s * 3)


def slopes_of(roofline: Roofline) -> list[Ceiling]:
    """The fastest way to move bytes in each place, fastest place first."""
    places = sorted({one.working_set_bytes for one in roofline.ceilings if one.kind == "bytes"})
    return [
        max((o for o in roofline.ceilings if o.working_set_bytes == place and o.kind == "bytes"), key=lambda o: o.per_s)
        for place in places
    ]


def _add_slope(
    figure: go.Figure, one: Ceiling, roofline: Roofline, ends: tuple[float, float], number: int, theme: Theme
) -> None:
    peak, (low, high) = roofline.peak.per_s, ends
    ridge = min(max(peak / one.per_s, low), high)
    words = f"{format_significant(one.per_s / GIGA)} GB/s: {one.name}, {format_bytes(one.working_set_bytes)}"
    figure.add_scatter(
        x=[low, ridge],
        y=[low * one.per_s, ridge * one.per_s],
        mode="lines",
        line={
            "color": TEXT[theme] if number else MUTED[theme],
            "width": 2,
            "dash": ("dot", "dash", "solid")[number % 3],
        },
        showlegend=False,
        hovertemplate=f"{escape(words)}<extra></extra>",
    )


def _add_words(figure: go.Figure, slopes: Sequence[Ceiling], taken: Ceiling, theme: Theme) -> None:
    """What each slope is, in the corner below the roof where no point can be."""
    for number, one in enumerate(reversed(slopes)):
        mark = MARKS_OF_LINES[(len(slopes) - 1 - number) % 3]
        figure.add_annotation(
            x=1,
            y=0,
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor="bottom",
            yshift=4 + 15 * number,
            xshift=-4,
            showarrow=False,
            text=slope_words(one, mark, one == taken),
            font={"size": 11, "color": TEXT[theme] if one == taken else MUTED[theme]},
        )


def slope_words(one: Ceiling, mark: str, is_taken: bool) -> str:
    """What a slope is; the one that was taken says so."""
    words = escape(f"{mark} {place_name(one)} {format_significant(one.per_s / GIGA)} GB/s")
    return f"<b>{words}, taken</b>" if is_taken else words


def _add_peaks(figure: go.Figure, roofline: Roofline, high: float, theme: Theme) -> None:
    slopes = slopes_of(roofline)
    for one in (o for o in roofline.ceilings if o.kind == "flops"):
        is_peak = one == roofline.peak
        figure.add_scatter(
            x=[one.per_s / slopes[0].per_s, high],
            y=[one.per_s, one.per_s],
            mode="lines",
            line={"color": TEXT[theme], "width": 2.5 if is_peak else 1, "dash": "solid" if is_peak else "dot"},
            showlegend=False,
            hovertemplate=f"{escape(one.name)}: {format_significant(one.per_s / GIGA)} GFLOP/s<extra></extra>",
        )
        if is_peak:
            figure.add_annotation(
                x=math.log10(high),
                y=math.log10(one.per_s),
                text=f"{escape(one.name)}: {format_significant(one.per_s / GIGA)} GFLOP/s",
                showarrow=False,
                xanchor="right",
                yanchor="bottom",
                font={"size": 11, "color": MUTED[theme]},
            )


def _add_point(
    figure: go.Figure, rung: Rung, ladder: OperatorLadder, roofline: Roofline, place: int, theme: Theme
) -> None:
    seconds = rung.seconds or 1.0
    moved = rung.traffic_bytes or ladder.least_bytes
    share = allowed_s(rung, ladder, roofline) / seconds
    counted = "counted" if rung.traffic_bytes else "least, by formula"
    figure.add_scatter(
        x=[intensity_of(rung, ladder)],
        y=[ladder.flops / seconds],
        name=escape(rung.name),
        mode="markers",
        marker={
            "color": colour_of(place, theme),
            "size": 13,
            "symbol": SYMBOLS[place % len(SYMBOLS)],
            "line": {"width": 1, "color": TEXT[theme]},
        },
        hovertemplate=(
            f"{format_significant(ladder.flops / seconds / GIGA)} GFLOP/s, "
            f"{format_significant(moved / seconds / GIGA)} GB/s in {format_time(seconds)}<br>"
            f"{format_bytes(moved)} moved ({counted}), {share:.0%} of its roof, {roof_of(rung, ladder, roofline)}"
            f"<extra>{escape(rung.name)}</extra>"
        ),
    )


def _scale(figure: go.Figure, across: tuple[float, float], up: tuple[float, float], theme: Theme) -> None:
    for axis, (low, high), scale, title in (
        ("xaxis", across, 1.0, "operations per byte moved (log scale)"),
        ("yaxis", up, GIGA, "GFLOP/s (log scale)"),
    ):
        ticks = [tick for tick in nice_ticks(low / scale, high / scale) if math.log10(tick) % 1 == 0] or nice_ticks(
            low / scale, high / scale
        )
        figure.layout[axis].update(
            type="log",
            range=[math.log10(low), math.log10(high)],
            tickvals=[tick * scale for tick in ticks],
            ticktext=[f"{tick:g}" for tick in ticks],
            title=title,
            gridcolor=grid_colour(theme),
            zeroline=False,
        )
