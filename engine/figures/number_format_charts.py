"""Where a value lies between two numbers of each format, the ranges of all formats, and sums that stop growing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.number_format_bits import value_text
from engine.figures.palette import CATEGORICAL, LINE, MUTED, TEXT, Theme, meaning
from engine.figures.timing_chart import DASHES
from engine.figures.units import format_count, format_significant
from engine.number_format.formats import BY_NAME, Format, neighbours
from engine.number_format.results import Limit, RunningSums, Stored, Value

HEIGHT, SUM_HEIGHT = 380, 460
LOW, HIGH = -160, 140
"""Powers of two that the chart of ranges reaches by itself: all formats but float64."""


def gap_of(stored: Stored, exact: Fraction) -> tuple[Fraction, Fraction] | None:
    """The two numbers of the format next to `exact`, one of them stored; None where it lies in no gap."""
    layout, bits = BY_NAME[stored.dtype], int(stored.bits, 16)
    if layout.special(bits) != "finite":
        return None
    here = layout.value(bits)
    below, above = neighbours(layout, bits)
    if exact == here:
        return (here, above) if above is not None else None
    other = above if exact > here else below
    if other is None or not min(here, other) <= exact <= max(here, other):
        return None
    return min(here, other), max(here, other)


def gap_chart(value: Value, exact: Fraction | None, theme: Theme) -> go.Figure:
    """One line per format from the number below to the one above; the diamond is the value as typed."""
    figure = go.Figure()
    rows = [(one, None if exact is None else gap_of(one, exact)) for one in reversed(value.stored)]
    for stored, gap in rows:
        if gap is None or exact is None:
            _add_note(figure, stored, theme)
            continue
        place = float((exact - gap[0]) / (gap[1] - gap[0]))
        layout = BY_NAME[stored.dtype]
        here = 0 if layout.value(int(stored.bits, 16)) == gap[0] else 1
        _add_gap(figure, stored, gap, (place, here), theme)
    figure.update_xaxes(
        range=[-0.42, 1.42], tickvals=[0, 0.5, 1], ticktext=["below", "halfway", "above"], zeroline=False,
        gridcolor=grid_colour(theme),
    )  # fmt: skip
    figure.update_yaxes(showgrid=False, automargin=True)
    return styled(figure, HEIGHT, theme, showlegend=False, margin={"l": 8, "r": 8, "t": 12, "b": 36})


def gap_ends(gap: tuple[Fraction, Fraction]) -> list[str]:
    """Both numbers of a gap in five digits; the second as a difference where they read the same."""
    ends = [format_significant(float(end), 5) for end in gap]
    return ends if ends[0] != ends[1] else [ends[0], f"+ {float(gap[1] - gap[0]):.2g}"]


def _add_note(figure: go.Figure, stored: Stored, theme: Theme) -> None:
    figure.add_scatter(
        x=[0.5], y=[stored.dtype], mode="text", text=[f"{value_text(stored.value)}: in no gap"],
        textfont={"color": MUTED[theme], "size": 11}, hoverinfo="skip",
    )  # fmt: skip


def _add_gap(
    figure: go.Figure, stored: Stored, gap: tuple[Fraction, Fraction], at: tuple[float, int], theme: Theme
) -> None:
    place, here = at
    ends = gap_ends(gap)
    words = [value_text(float(end)) + " (stored)" * (here == side) for side, end in enumerate(gap)]
    figure.add_scatter(
        x=[0, 1], y=[stored.dtype] * 2, mode="lines+markers+text", line={"color": LINE[theme], "width": 2},
        marker={
            "size": [13 if here == side else 9 for side in (0, 1)],
            "symbol": ["circle" if here == side else "circle-open" for side in (0, 1)],
            "color": meaning("representable").accent(theme),
            "line": {"width": 2, "color": meaning("representable").accent(theme)},
        },
        text=ends, textposition=["middle left", "middle right"], textfont={"size": 11, "color": TEXT[theme]},
        cliponaxis=False,
        hovertext=[f"{stored.dtype}: {word}" for word in words],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[0.5], y=[stored.dtype], mode="markers", hoverinfo="skip",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 1.5, "color": MUTED[theme]}},
    )  # fmt: skip
    figure.add_scatter(
        x=[place], y=[stored.dtype], mode="markers",
        marker={"symbol": "diamond", "size": 9, "color": meaning("input").accent(theme)},
        hovertemplate=f"the value, {place:.4g} of the way<extra></extra>",
    )  # fmt: skip


def ranges_chart(value: Value, limits: Sequence[Limit], theme: Theme) -> go.Figure:
    """What each format holds, on one axis of powers of two, with the magnitude of the value."""
    figure = go.Figure()
    mark, low, high = powers_of(value)
    for limit in reversed(limits):
        _add_range(figure, BY_NAME[limit.dtype], (low, high), theme)
    if mark is not None:
        figure.add_vline(x=mark, line={"color": meaning("input").accent(theme), "width": 2})
        figure.add_annotation(
            x=mark, y=1, yref="paper", yanchor="bottom", text=f"|value| = 2<sup>{mark:.4g}</sup>", showarrow=False,
            font={"color": meaning("input").accent(theme)},
        )  # fmt: skip
    every = 32 if high - low < 400 else 256
    ticks = list(range(low - low % every, high + 1, every))
    figure.update_xaxes(
        range=[low, high], tickvals=ticks, ticktext=[f"2<sup>{t}</sup>" for t in ticks], zeroline=False,
        gridcolor=grid_colour(theme),
    )  # fmt: skip
    figure.update_yaxes(showgrid=False, automargin=True)
    legend = {"orientation": "h", "y": -0.12, "yanchor": "top", "x": 0}
    return styled(figure, HEIGHT, theme, barmode="overlay", margin={"l": 8, "r": 8, "t": 28, "b": 60}, legend=legend)


def powers_of(value: Value) -> tuple[float | None, int, int]:
    """(log2 of the magnitude, None for 0, inf and nan; the two powers of two between which the axis reaches)."""
    magnitude = abs(value.value)
    mark = math.log2(magnitude) if magnitude and math.isfinite(magnitude) else None
    return mark, min(LOW, math.floor(mark or 0) - 20), max(HIGH, math.ceil(mark or 0) + 20)


def range_ends(layout: Format) -> tuple[float, float, float]:
    """log2 of the smallest number above 0, the smallest normal one and the largest; worked out from the layout."""
    return (
        _log2(layout.smallest),
        _log2(layout.smallest_normal),
        _log2(layout.largest),
    )


def _log2(value: Fraction) -> float:
    """Of fractions that are no float64 either."""
    return math.log2(value.numerator) - math.log2(value.denominator)


def _add_range(figure: go.Figure, layout: Format, window: tuple[int, int], theme: Theme) -> None:
    ends = range_ends(layout)
    for key, start, end in (("subnormal", ends[0], ends[1]), ("representable", ends[1], ends[2])):
        left, right = max(start, window[0]), min(end, window[1])
        if right <= left:
            continue
        figure.add_bar(
            base=[left], x=[right - left], y=[layout.name], orientation="h", width=0.5,
            name="subnormal" if key == "subnormal" else "normal", legendgroup=key,
            showlegend=layout.name == "float16",
            marker={
                "color": meaning(key).accent(theme),
                "pattern": {"shape": "/" if key == "subnormal" else "", "solidity": 0.35},
            },
            hovertemplate=f"{layout.name}: 2^{start:.5g} to 2^{end:.5g}<extra></extra>",
        )  # fmt: skip


def sum_chart(found: RunningSums, exact: tuple[float, float], theme: Theme) -> go.Figure:
    """Totals over the number of additions; `exact` is (start, total) of the line they should follow."""
    figure = go.Figure()
    last = max((run.counts[-1] for run in found.runs), default=1)
    figure.add_scatter(
        x=[0, last], y=[one if math.isfinite(one) else None for one in exact], mode="lines", name="exact",
        hoverinfo="skip",
        line={"color": MUTED[theme], "dash": "dash", "width": 5},
    )  # fmt: skip
    for place, run in enumerate(found.runs):
        colour = CATEGORICAL[place][theme == "dark"]
        figure.add_scatter(
            x=run.counts, y=[one if math.isfinite(one) else None for one in run.totals], mode="lines", name=run.dtype,
            line={"color": colour, "width": 2.5, "dash": DASHES[place]},
            hovertemplate=f"{run.dtype} after %{{x}}: %{{y:.6g}}<extra></extra>",
        )  # fmt: skip
        if run.stops_at is not None and math.isfinite(run.total):
            figure.add_scatter(
                x=[run.stops_at], y=[run.total], mode="markers", showlegend=False,
                marker={"symbol": "x", "size": 10, "color": colour},
                hovertemplate=f"{run.dtype} stands still at {run.total:g} from addition "
                f"{format_count(run.stops_at)}<extra></extra>",
            )  # fmt: skip
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    figure.update_xaxes(**grid, title="additions")
    figure.update_yaxes(**grid, title="total")
    return styled(figure, SUM_HEIGHT, theme)
