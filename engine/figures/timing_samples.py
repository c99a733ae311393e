"""The raw samples of two sides: how they spread, how they went over the rounds, where the time of a call was spent."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

import plotly.graph_objects as go

from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import MUTED, PALETTE, TEXT, Theme
from engine.figures.timing_chart import DASHES, SYMBOLS, colour_of
from engine.figures.units import format_time
from engine.timing.comparison import Comparison

WARM_TITLE = " (0 and below: warm-up, in no ratio)"
ROW_PIXELS = 84
WIDE = 20
"""Ratio of the ends of a log axis from which ticks at 1, 2, 5 are enough."""
PARTS = ("on the processor, own code", "in the kernel", "not running")
"""What a call's wall time is made of, one colour and pattern each."""


def samples_chart(comparison: Comparison, theme: Theme = "light") -> go.Figure:
    """One row per name: every sample, the shape of their distribution, the box of their middle half."""
    figure = go.Figure()
    for place, (name, samples) in enumerate(zip(comparison.names, comparison.samples_s, strict=True)):
        figure.add_violin(
            x=list(samples),
            y0=name,
            name=name,
            orientation="h",
            side="positive",
            width=1.1,
            points="all",
            jitter=0.5,
            pointpos=-0.45,
            spanmode="hard",
            box={"visible": True, "width": 0.14},
            meanline={"visible": False},
            line={"color": colour_of(place, theme), "width": 1.5},
            marker={"color": colour_of(place, theme), "size": 6, "symbol": SYMBOLS[place], "opacity": 0.65},
            customdata=[f"round {number + 1}: {format_time(s)}" for number, s in enumerate(samples)],
            hovertemplate="%{customdata}<extra>" + name + "</extra>",
            hoveron="points",
            showlegend=False,
        )
    every = [s for samples in comparison.samples_s for s in samples]
    ticks = _ticks(min(every), max(every))
    figure.update_xaxes(
        title=f"{comparison.clock} time per call, {comparison.rounds} samples each",
        tickvals=ticks,
        ticktext=[format_time(tick) for tick in ticks],
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(
        showgrid=False, zeroline=False, autorange="reversed", tickfont={"size": 15}, range=[len(comparison.names), -1]
    )
    margin = {"l": 8, "r": 16, "t": 8, "b": 52}
    return styled(figure, 60 + ROW_PIXELS * len(comparison.names), theme, violingap=0.1, margin=margin)


def rounds_chart(comparison: Comparison, theme: Theme = "light") -> go.Figure:
    """Every sample in the order of the rounds; the rounds to warm up stand before round 1, apart and hollow."""
    figure = go.Figure()
    warm = len(comparison.warm_up_s[0]) if comparison.warm_up_s else 0
    for place, name in enumerate(comparison.names):
        colour = colour_of(place, theme)
        marker = {"color": colour, "size": 8, "symbol": SYMBOLS[place]}
        if warm:
            hollow = marker | {"symbol": f"{SYMBOLS[place]}-open", "line": {"width": 2}}
            numbers = [number - warm for number in range(1, warm + 1)]
            _add_rounds(figure, numbers, comparison.warm_up_s[place], f"{name}, warming up", hollow, colour, "dot")
        numbers = list(range(1, comparison.rounds + 1))
        _add_rounds(figure, numbers, comparison.samples_s[place], name, marker, colour, DASHES[place])
    if warm:
        figure.add_vrect(x0=0.5 - warm, x1=0.5, fillcolor=MUTED[theme], opacity=0.12, line_width=0)
        figure.add_annotation(
            x=0.5 - warm / 2,
            y=1,
            yref="paper",
            yanchor="top",
            text="warm-up",
            showarrow=False,
            font={"color": MUTED[theme]},
        )
    every = [s for samples in (*comparison.samples_s, *comparison.warm_up_s) for s in samples]
    low, high = min(every), max(every)
    ticks = nice_ticks(low, high) if high / low > WIDE else [tick for tick in _ticks(low, high) if tick > 0]
    figure.update_xaxes(title=f"round{WARM_TITLE if warm else ''}", gridcolor=grid_colour(theme))
    figure.update_yaxes(
        type="log",
        tickvals=ticks,
        ticktext=[format_time(tick) for tick in ticks],
        title=f"{comparison.clock} time per call (log scale)",
        gridcolor=grid_colour(theme),
    )
    figure.update_xaxes(zeroline=False)
    return styled(figure, 360, theme)


def _add_rounds(
    figure: go.Figure,
    numbers: Sequence[int],
    samples: Sequence[float],
    name: str,
    marker: dict[str, object],
    colour: str,
    dash: str,
) -> None:
    figure.add_scatter(
        x=list(numbers),
        y=list(samples),
        name=name,
        mode="lines+markers",
        marker=marker,
        line={"color": colour, "width": 1.2, "dash": dash},
        customdata=[f"round {number}: {format_time(s)}" for number, s in zip(numbers, samples, strict=True)],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


class Spent(NamedTuple):
    """Mean seconds per call of one side, over all rounds that count; `user` and `system` are of every thread.

    `faults` are per call, the median of the rounds, as everywhere.
    """

    wall_s: float
    thread_cpu_s: float
    user_s: float
    system_s: float
    faults: float

    @property
    def not_running_s(self) -> float:
        """Wall time in which the timed thread was not on a processor."""
        return max(0.0, self.wall_s - self.thread_cpu_s)

    @property
    def other_threads_s(self) -> float:
        """Processor time of threads beside the timed one."""
        return max(0.0, self.user_s + self.system_s - self.thread_cpu_s)


def time_spent(comparison: Comparison) -> tuple[Spent, ...]:
    """Where the time of a call went, for every name."""
    found = []
    for place in range(len(comparison.names)):
        usage, calls = comparison.usage[place], comparison.calls[place] * comparison.rounds
        found.append(
            Spent(
                fmean(comparison.wall_s[place]),
                fmean(comparison.cpu_s[place]),
                usage.user_s / calls,
                usage.system_s / calls,
                median(comparison.faults[place]),
            )
        )
    return tuple(found)


class _Row(NamedTuple):
    title: str
    own_s: float
    kernel_s: float
    not_running_s: float

    @property
    def parts(self) -> tuple[float, float, float]:
        return self.own_s, self.kernel_s, self.not_running_s


def spent_chart(comparison: Comparison, theme: Theme = "light") -> go.Figure:
    """Per name one bar of wall time: own code, kernel, not running; and one of the processor time of all threads."""
    figure, rows = go.Figure(), list[_Row]()
    for name, one in zip(comparison.names, time_spent(comparison), strict=True):
        share = one.system_s / (one.user_s + one.system_s) if one.user_s + one.system_s else 0.0
        kernel = one.thread_cpu_s * share
        rows.append(_Row(f"{name} wall", one.thread_cpu_s - kernel, kernel, one.not_running_s))
        rows.append(_Row(f"{name} CPU, all threads", one.user_s, one.system_s, 0.0))
    colours = (PALETTE["operation"], PALETTE["copy"], PALETTE["empty"])
    patterns = ("", "/", ".")
    for part, label in enumerate(PARTS):
        figure.add_bar(
            x=[row.parts[part] for row in rows],
            y=[row.title for row in rows],
            orientation="h",
            name=label,
            marker={
                "color": colours[part].accent(theme),
                "pattern": {"shape": patterns[part], "fgcolor": TEXT[theme]},
                "opacity": 0.45 if part == 2 else 1.0,
            },
            customdata=[format_time(row.parts[part]) for row in rows],
            hovertemplate="%{y}: %{customdata}<extra>" + label + "</extra>",
        )
    top = max(sum(row.parts) for row in rows)
    ticks = _ticks(0.0, top)
    figure.update_xaxes(
        title="mean time per call",
        tickvals=ticks,
        ticktext=[format_time(tick) for tick in ticks],
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    return styled(figure, 120 + 44 * len(rows), theme, barmode="stack", bargap=0.35)


def _ticks(low: float, high: float) -> list[float]:
    """About six round places on a linear axis."""
    span = max(high - low, abs(high) * 1e-3, 1e-12)
    step = next(s for power in range(-13, 5) for s in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if span / s <= 6)
    first = int(low / step)
    return [step * number for number in range(first, int(high / step) + 2)]
