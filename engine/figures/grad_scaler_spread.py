"""Gradients by power of two over the ranges of the formats, and what each scale loses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.figures.chart_style import grid_colour, styled
from engine.figures.grad_scaler_timeline import plain_scale
from engine.figures.palette import CATEGORICAL, MUTED, TEXT, Theme, meaning
from engine.figures.timing_chart import DASHES
from engine.figures.units import format_count
from engine.grad_scaler.results import Range, Spread

HEIGHT, SWEEP_HEIGHT = 470, 300
ROOM = 0.14
"""Share of the width that is free on the right, for the word there."""
BANDS = (("subnormal", "subnormal"), ("representable", "normal"))


def limits_of(spread: Spread, scale: float) -> tuple[int, int]:
    """Powers of two from which to which the picture reaches: the gradients with and without scale, and fp16's range."""
    shift = math.log2(scale)
    low = min([*spread.exponents, *(e + shift for e in spread.exponents), -26])
    high = max([*spread.exponents, *(e + shift for e in spread.exponents), 16])
    return math.floor(low) - 2, math.ceil(high + ROOM * (high - low)) + 1


def spread_chart(spread: Spread, ranges: Sequence[Range], scale: float, theme: Theme) -> go.Figure:
    """Bars of the gradients as they are and times `scale`; below, what every format holds, subnormal and normal."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.04)
    shift = math.log2(scale)
    _add_bars(figure, spread, 0.0, ("as they are", meaning("gradient").accent(theme), 0.9))
    if shift:
        _add_bars(figure, spread, shift, (f"times the scale {plain_scale(scale)}", MUTED[theme], 0.55))
    low, high = limits_of(spread, scale)
    for lane in reversed(ranges):
        _add_lane(figure, lane, (low, high), theme)
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    every = max(2, 2 * round((high - low) / 24))
    ticks = list(range(low - low % every, high + 1, every))
    figure.update_xaxes(**grid, range=[low, high], tickvals=ticks, ticktext=[f"2<sup>{t}</sup>" for t in ticks])
    figure.update_xaxes(title="|gradient|", row=2, col=1)
    figure.update_yaxes(**grid, title="elements", type="log", row=1, col=1, dtick=1, exponentformat="power")
    figure.update_yaxes(**grid, row=2, col=1, automargin=True)
    return styled(figure, HEIGHT, theme, barmode="overlay", bargap=0, margin={"l": 8, "r": 16, "t": 40, "b": 48})


def _add_bars(figure: go.Figure, spread: Spread, shift: float, look: tuple[str, str, float]) -> None:
    name, colour, opacity = look
    figure.add_bar(
        x=[exponent + shift + 0.5 for exponent in spread.exponents],
        y=spread.counts,
        width=0.94,
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        opacity=opacity,
        text=[""] * len(spread.counts),
        customdata=[
            f"2^{e + shift:g} to 2^{e + shift + 1:g}<br><b>{format_count(n)}</b> gradients {name}"
            for e, n in zip(spread.exponents, spread.counts, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        row=1,
        col=1,
    )


def _add_lane(figure: go.Figure, lane: Range, limits: tuple[int, int], theme: Theme) -> None:
    ends = [math.log2(v) for v in (lane.smallest_subnormal, lane.smallest_normal, lane.largest)]
    for (key, word), start, end in zip(BANDS, ends[:-1], ends[1:], strict=True):
        shown = max(start, limits[0]), min(end, limits[1])
        if shown[1] <= shown[0]:
            continue
        figure.add_bar(
            base=[shown[0]],
            x=[shown[1] - shown[0]],
            y=[lane.dtype],
            orientation="h",
            name=word,
            legendgroup=word,
            showlegend=lane.dtype == "float16",
            marker={
                "color": meaning(key).accent(theme),
                "pattern": {"shape": "/" if key == "subnormal" else "", "solidity": 0.35},
            },
            width=0.55,
            hovertemplate=f"{lane.dtype}, {word}: 2^{start:.4g} to 2^{end:.4g}<extra></extra>",
            row=2,
            col=1,
        )
    for place, word in ((ends[0], "→ 0"), (ends[2], "→ overflow")):
        if limits[0] < place < limits[1]:
            left = word == "→ 0"
            figure.add_annotation(
                x=place, y=lane.dtype, text="0 ←" if left else word, showarrow=False, row=2, col=1,
                xanchor="right" if left else "left", font={"size": 11, "color": TEXT[theme]},
                xshift=-4 if left else 4,
            )  # fmt: skip


def sweep_chart(spread: Spread, scale: float, theme: Theme) -> go.Figure:
    """Share of the gradients whose value is lost, over the scale as a power of two; lower is better."""
    figure = go.Figure()
    total = max(1, sum(spread.counts))
    for place, one in enumerate(spread.best):
        figure.add_scatter(
            x=spread.sweep,
            y=[100 * lost / total for lost in one.swept],
            mode="lines",
            name=one.dtype,
            line={"color": CATEGORICAL[place][theme == "dark"], "dash": DASHES[place], "width": 2.5},
            hovertemplate=f"{one.dtype} at 2^%{{x}}: %{{y:.3g}} % lost<extra></extra>",
        )
    if scale > 0:
        figure.add_vline(
            x=math.log2(scale), line={"color": MUTED[theme], "dash": "dash", "width": 1.5},
            annotation_text="init_scale", annotation_font_color=MUTED[theme],
        )  # fmt: skip
    ticks = list(spread.sweep[::8])
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    figure.update_xaxes(**grid, title="scale", tickvals=ticks, ticktext=[f"2<sup>{t}</sup>" for t in ticks])
    figure.update_yaxes(**grid, title="lost, %", rangemode="tozero")
    return styled(figure, SWEEP_HEIGHT, theme)
