"""One quantity or several of every leaf in forward order, on a log axis; zero, none and non-finite have their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.heat_map import label_text
from engine.figures.palette import CATEGORICAL, MUTED, PALETTE, TEXT, Theme, meaning
from engine.figures.units import format_significant

HEIGHT = 400
MOST_LABELS = 36
DODGE = 0.14
NOTHING: list[Any] = [None]
"""Plotly leaves a trace without any point out of the legend."""
LABEL = 26
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
PATHS = {"circle": "M0 -5A5 5 0 1 1 -.01 -5Z", "diamond": "M0 -6L6 0L0 6L-6 0Z", "square": "M-4.5 -4.5H4.5V4.5H-4.5Z"}
PATHS |= {"triangle-up": "M0 -6L5.5 4.5H-5.5Z", "cross": "M-2 -6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z", "star": PATHS["diamond"]}
STATES = {"zero": ("zero_gradient", "line-ew-open"), "none": ("no_gradient", "circle-open"), "bad": ("non_finite", "x")}


class Series(msgspec.Struct, frozen=True):
    """One quantity: its label, colour (a key of the palette or a number of CATEGORICAL), and a value per leaf.

    None where a leaf has none; `words` tell of each leaf on hover.
    """

    label: str
    colour: str | int
    values: tuple[float | None, ...]
    words: tuple[str, ...] = ()

    def accent(self, theme: Theme) -> str:
        if isinstance(self.colour, str):
            return meaning(self.colour).accent(theme)
        return CATEGORICAL[self.colour % len(CATEGORICAL)][theme == "dark"]


class LogScale(msgspec.Struct, frozen=True):
    """Powers of ten that hold every positive value, a place below for 0 and none, and one above for non-finite."""

    low: int
    high: int

    @property
    def floor(self) -> float:
        return self.low - 0.8

    @property
    def ceiling(self) -> float:
        return self.high + 0.6

    def place(self, value: float | None) -> float:
        """The exponent at which a value is drawn."""
        if value is None or value == 0:
            return self.floor
        return math.log10(abs(value)) if math.isfinite(value) else self.ceiling

    @property
    def ticks(self) -> list[int]:
        step = max(1, -(-(self.high - self.low) // 8))
        return list(range(self.low, self.high + 1, step))


def log_scale(series: Sequence[Series]) -> LogScale:
    """The scale of these; 1 where nothing is positive."""
    exponents = [math.log10(abs(v)) for one in series for v in one.values if v and math.isfinite(v)] or [0.0]
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return LogScale(low, high if high > low else low + 1)


def state_of(value: float | None) -> str:
    """ "" for a value that has a place on the axis, else zero, none or bad."""
    if value is None:
        return "none"
    return "zero" if value == 0 else "" if math.isfinite(value) else "bad"


def leaf_chart(
    names: Sequence[str],
    series: Sequence[Series],
    theme: Theme,
    *,
    y_title: str,
    selected: int | None = None,
    lines: Sequence[tuple[float, str]] = (),
    height: int = HEIGHT,
) -> go.Figure:
    """Marks per leaf; customdata of each is the leaf's number. `lines` are values to draw across, with their label."""
    figure, scale = go.Figure(), log_scale([*series, Series("", 0, tuple(value for value, _ in lines))])
    for number, one in enumerate(series):
        _add_series(figure, names, one, (number, len(series)), scale, theme)
    _add_states(figure, names, series, scale, theme)
    if selected is not None and 0 <= selected < len(names):
        figure.add_vline(x=selected, line={"color": TEXT[theme], "width": 1, "dash": "dot"}, layer="below")
    for value, label in lines:
        figure.add_scatter(
            x=[-0.6, len(names) - 0.4],
            y=[scale.place(value)] * 2,
            mode="lines",
            name=label_text(label, 60),
            line={"color": MUTED[theme], "width": 1.2, "dash": "dash"},
            hoverinfo="skip",
        )
    _name_axes(figure, names, scale, y_title, theme)
    return styled(figure, height, theme, margin={"l": 8, "r": 12, "t": 30, "b": 8}, hovermode="closest")


def beside(number: int, place: tuple[int, int]) -> float:
    """Where leaf `number` stands for one series of several (which, of how many): side by side, so none is hidden."""
    return number + (place[0] - (place[1] - 1) / 2) * DODGE


def _add_series(
    figure: go.Figure, names: Sequence[str], one: Series, place: tuple[int, int], scale: LogScale, theme: Theme
) -> None:
    here = [number for number, value in enumerate(one.values) if not state_of(value)]
    symbol = SYMBOLS[place[0] % len(SYMBOLS)]
    figure.add_scatter(
        x=[beside(number, place) for number in here] or NOTHING,
        y=[scale.place(one.values[number]) for number in here] or NOTHING,
        mode="markers",
        showlegend=True,
        name=label_text(one.label, 60),
        marker={"symbol": symbol, "size": 9, "color": one.accent(theme), "line": {"width": 0}},
        customdata=[[number] for number in here],
        text=[_words(names, one, number) for number in here],
        hovertemplate="%{text}<extra></extra>",
    )


def _add_states(
    figure: go.Figure, names: Sequence[str], series: Sequence[Series], scale: LogScale, theme: Theme
) -> None:
    labels = {"zero": "exactly 0", "none": "none", "bad": "not finite"}
    for state, (key, symbol) in STATES.items():
        found = [
            (number, (which, len(series)), one)
            for which, one in enumerate(series)
            for number, value in enumerate(one.values)
            if state_of(value) == state
        ]
        if found:
            colour = PALETTE[key].accent(theme)
            figure.add_scatter(
                x=[beside(number, place) for number, place, _ in found],
                y=[scale.ceiling if state == "bad" else scale.floor] * len(found),
                mode="markers",
                name=labels[state],
                marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
                customdata=[[number] for number, _, _ in found],
                text=[_words(names, one, number) for number, _, one in found],
                hovertemplate="%{text}<extra></extra>",
            )


def _words(names: Sequence[str], one: Series, number: int) -> str:
    value = one.values[number]
    told = "none" if value is None else format_significant(value, 4)
    rest = f"<br>{label_text(one.words[number], 160)}" if one.words and one.words[number] else ""
    return f"<b>{label_text(names[number], 80)}</b><br>{label_text(one.label, 60)}: {told}{rest}"


def _name_axes(figure: go.Figure, names: Sequence[str], scale: LogScale, y_title: str, theme: Theme) -> None:
    step = max(1, -(-len(names) // MOST_LABELS))
    shown = range(0, len(names), step)
    figure.update_xaxes(
        tickvals=list(shown),
        ticktext=[label_text(names[number], LABEL) for number in shown],
        tickangle=-40 if len(names) > 4 else 0,
        range=[-0.6, max(len(names) - 0.4, 0.6)],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    ticks = scale.ticks
    figure.update_yaxes(
        tickvals=[scale.floor, *ticks, scale.ceiling],
        ticktext=["0 / none", *(power_text(tick) for tick in ticks), "nan, ∞"],
        range=[scale.floor - 0.4, scale.ceiling + 0.3],
        title=label_text(y_title, 80),
        gridcolor=grid_colour(theme),
        zeroline=False,
        automargin=True,
    )


def power_text(exponent: int) -> str:
    """10 to a power as read: 0.001, 1, 1000, else 1e-07."""
    return format_significant(10.0**exponent, 1) if -4 < exponent < 5 else f"1e{exponent:+03d}".replace("-", "−")


def chosen_leaf(event: Any, leaves: int) -> int | None:
    """The leaf's number of the first selected mark of Plotly's selection."""
    points = getattr(getattr(event, "selection", None), "points", ())
    for point in points:
        data = point.get("customdata")
        number = data[0] if isinstance(data, list | tuple) and data else data
        if isinstance(number, int) and 0 <= number < leaves:
            return number
    return None
