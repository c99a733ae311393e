"""Errors of checked gradient entries: float64 quotients against those of the model's own dtype."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.heat_map import label_text
from engine.figures.palette import MUTED, Theme, meaning
from engine.figures.units import format_significant
from engine.gradients.results import Checked, CheckedEntry

VERDICTS = {
    "agrees": ("claim_holds", "circle"),
    "kink": ("claim_sometimes", "diamond"),
    "differs": ("wrong", "star"),
    "not finite": ("non_finite", "x"),
}
LEAST = 1e-18
HEIGHT = 400


def finite_chart(outcome: Checked, theme: Theme, rtol: float) -> go.Figure:
    """|gradient - quotient| over |gradient|, both logarithmic; what lies below the dashed line agrees."""
    figure = go.Figure()
    own = [entry for entry in outcome.entries if entry.own_numeric != entry.numeric]
    _add(
        figure, own, [abs(e.gradient - e.own_numeric) for e in own], "in the model's dtype", "circle-open", MUTED[theme]
    )
    for verdict, (key, symbol) in VERDICTS.items():
        found = [entry for entry in outcome.entries if entry.verdict == verdict]
        _add(figure, found, [entry.error for entry in found], verdict, symbol, meaning(key).accent(theme))
    sizes = [max(abs(entry.exact), LEAST) for entry in outcome.entries]
    ends = [min(sizes), max(sizes)]
    figure.add_scatter(
        x=ends,
        y=[outcome.tolerance + rtol * end for end in ends],
        mode="lines",
        line={"dash": "dash", "color": MUTED[theme], "width": 1.5},
        name="allowed",
        hoverinfo="skip",
    )
    grid = {
        "type": "log",
        "gridcolor": grid_colour(theme),
        "zeroline": False,
        "exponentformat": "e",
        "automargin": True,
    }
    figure.update_xaxes(title="|gradient| in float64 (exact zeros at the left edge)", **grid)
    figure.update_yaxes(title="|gradient − quotient|", **grid)
    return styled(figure, HEIGHT, theme)


def _add(
    figure: go.Figure, entries: list[CheckedEntry], errors: list[float], name: str, symbol: str, colour: str
) -> None:
    if not entries:
        return
    figure.add_scatter(
        x=[max(abs(entry.exact), LEAST) for entry in entries],
        y=[max(error, LEAST) for error in errors],
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
