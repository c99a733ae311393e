"""Errors of checked gradient entries: float64 quotients against those of the model's own dtype."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.heat_map import label_text
from engine.figures.palette import MUTED, Theme, meaning
from engine.figures.units import format_significant
from engine.gradients.results import Checked, CheckedEntry

VERDICTS = {
    "agrees": ("claim_holds", "circle"),
    "bends": ("claim_sometimes", "diamond"),
    "differs": ("wrong", "star"),
    "not finite": ("non_finite", "x"),
}
HEIGHT = 400


def finite_chart(outcome: Checked, theme: Theme, rtol: float) -> go.Figure:
    """|gradient - quotient| over |gradient|, both logarithmic; what lies below the dashed line agrees."""
    figure = go.Figure()
    own = [entry for entry in outcome.entries if entry.own_numeric != entry.numeric]
    left = _least([abs(entry.exact) for entry in outcome.entries])
    apart = [abs(entry.gradient - entry.own_numeric) for entry in own]
    errors = [entry.error for entry in outcome.entries]
    low = _least([*errors, *apart, outcome.tolerance + rtol * left])  # zeros agree: below the dashed line too
    _add(figure, own, apart, (left, low), ("in the model's dtype", "circle-open", MUTED[theme]))
    for verdict, (key, symbol) in VERDICTS.items():
        found = [entry for entry in outcome.entries if entry.verdict == verdict]
        _add(
            figure, found, [entry.error for entry in found], (left, low), (verdict, symbol, meaning(key).accent(theme))
        )
    sizes = [max(abs(entry.exact), left) for entry in outcome.entries if math.isfinite(entry.exact)] or [left]
    figure.add_scatter(
        x=[min(sizes), max(sizes)],
        y=[outcome.tolerance + rtol * end for end in (min(sizes), max(sizes))],
        mode="lines",
        line={"dash": "dash", "color": MUTED[theme], "width": 1.5},
        name="allowed",
        hoverinfo="skip",
    )
    grid = {"type": "log", "gridcolor": grid_colour(theme), "zeroline": False, "exponentformat": "e"}
    across, up = sizes, [max(error, low) for error in (*apart, *errors)]
    title = "|gradient| in float64 (zeros at the left edge)"
    figure.update_xaxes(title=title, automargin=True, dtick=_decades(across), **grid)
    figure.update_yaxes(
        title="|gradient − quotient| (zeros at the lower edge)", automargin=True, dtick=_decades(up), **grid
    )
    return styled(figure, HEIGHT, theme)


def _decades(values: list[float]) -> int:
    """Powers of ten from one tick to the next, so that there are at most about eight."""
    finite = [value for value in values if 0 < value < math.inf]
    span = math.log10(max(finite) / min(finite)) if finite else 1.0
    return max(1, math.ceil(span / 8))


def _least(values: list[float]) -> float:
    """Where zeros are drawn: a power of ten below every positive value."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    return float(10.0 ** (math.floor(math.log10(min(positive))) - 1)) if positive else 1e-12


def _add(
    figure: go.Figure,
    entries: list[CheckedEntry],
    errors: list[float],
    corner: tuple[float, float],
    look: tuple[str, str, str],
) -> None:
    if not entries:
        return
    name, symbol, colour = look
    figure.add_scatter(
        x=[max(abs(entry.exact), corner[0]) for entry in entries],
        y=[max(error, corner[1]) for error in errors],
        mode="markers",
        name=name,
        marker={"symbol": symbol, "size": 9, "color": colour, "line": {"width": 1.2, "color": colour}},
        text=[_words(entry, error) for entry, error in zip(entries, errors, strict=True)],
        hovertemplate="%{text}<extra></extra>",
    )


def _words(entry: CheckedEntry, error: float) -> str:
    place = f"{label_text(entry.name, 60)}[{', '.join(map(str, entry.index))}]{entry.part and '.' + entry.part}"
    return (
        f"<b>{place}</b> ({entry.chosen})<br>gradient {format_significant(entry.exact, 6)}<br>"
        f"quotient {format_significant(entry.numeric, 6)}<br>error {format_significant(error)}: {entry.verdict}"
    )
