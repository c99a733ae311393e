"""The timed conditions of a claim as a picture: the claimed range of each, and the band that was measured."""

from __future__ import annotations

import math
from html import escape

import plotly.graph_objects as go

from engine.claims.claim import TimeRule
from engine.claims.verdict import Answer, Verdict
from engine.figures.axis import nice_ticks
from engine.figures.chart_style import grid_colour, styled
from engine.figures.claims_words import ratio_words, rule_words
from engine.figures.palette import TEXT, Theme, meaning
from engine.timing.comparison import Ratio

ROW_PIXELS = 58
ANSWER_MEANINGS: dict[Answer, str] = {"yes": "claim_holds", "no": "claim_fails", "open": "claim_open"}
SYMBOLS: dict[Answer, str] = {"yes": "circle", "no": "x", "open": "diamond-open"}
Row = tuple[TimeRule, Ratio, Answer]


def timed_rows(verdict: Verdict) -> list[Row]:
    """The checks that have a ratio."""
    return [
        (check.rule, check.found, check.answer)
        for check in verdict.checks
        if isinstance(check.found, Ratio) and isinstance(check.rule, TimeRule)
    ]


def claims_chart(verdict: Verdict, theme: Theme = "light") -> go.Figure | None:
    """One row per timed condition, time / time of the baseline on a log axis; None when nothing was timed."""
    rows = timed_rows(verdict)
    if not rows:
        return None
    figure = go.Figure()
    ends = [end for _, ratio, _ in rows for end in (ratio.low, ratio.high)]
    limits = [limit for rule, _, _ in rows for limit in (rule.low, rule.high) if 0 < limit < math.inf]
    low, high = min([0.8, *ends, *limits]) / 1.15, max([1.25, *ends, *limits]) * 1.15
    for number, row in enumerate(rows):
        _add_claimed(figure, row[0], number, low, high, theme)
        _add_measured(figure, row, number, theme)
    ticks = nice_ticks(low, high)
    figure.update_xaxes(
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=ticks,
        ticktext=[f"{tick:g}×" for tick in ticks],
        title="time / time of the baseline (log scale); shaded: the claimed range, bar: 95 % band",
        gridcolor=grid_colour(theme),
        zeroline=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[_title(row, theme) for row in rows],
        range=[len(rows) - 0.45, -0.55],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    figure.add_vline(x=1.0, line={"color": TEXT[theme], "width": 1.5, "dash": "dash"})
    return styled(figure, 96 + ROW_PIXELS * len(rows), theme, margin={"l": 8, "r": 16, "t": 12, "b": 56})


def _title(row: Row, theme: Theme) -> str:
    rule, ratio, answer = row
    colour = meaning(ANSWER_MEANINGS[answer]).accent(theme)
    names = f"{ratio.name} / {ratio.baseline}"
    return f'{escape(rule.clause)}<br><span style="color:{colour}">{escape(names)}</span>'


def _add_claimed(figure: go.Figure, rule: TimeRule, number: int, low: float, high: float, theme: Theme) -> None:
    figure.add_shape(
        type="rect",
        x0=max(rule.low, low),
        x1=min(rule.high, high),
        y0=number - 0.36,
        y1=number + 0.36,
        fillcolor=meaning("claimed").accent(theme),
        opacity=0.16,
        line={"width": 0},
        layer="below",
    )


def _add_measured(figure: go.Figure, row: Row, number: int, theme: Theme) -> None:
    rule, ratio, answer = row
    colour = meaning(ANSWER_MEANINGS[answer]).accent(theme)
    words = f"{escape(rule.clause)}<br>claimed: {escape(rule_words(rule))}<br>measured: {escape(ratio_words(ratio))}"
    shared = {"showlegend": False, "hovertemplate": f"{words}<extra></extra>"}
    figure.add_scatter(
        x=[ratio.low, ratio.high],
        y=[number, number],
        mode="lines",
        line={"color": colour, "width": 8},
        opacity=0.5,
        **shared,
    )
    marker = {"color": colour, "size": 13, "symbol": SYMBOLS[answer], "line": {"width": 2, "color": colour}}
    figure.add_scatter(x=[ratio.ratio], y=[number], mode="markers", marker=marker, **shared)
