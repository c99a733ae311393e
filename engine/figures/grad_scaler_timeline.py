"""The scale of a run over its steps, what was skipped, and the gradients' norms and loss below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import CATEGORICAL, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_count, format_significant
from engine.grad_scaler.results import Run, Step

HEIGHT = 560
NORMS = (
    ("scaled", "scaled_norm", "solid", 0),
    ("unscaled", "unscaled_norm", "dash", 2),
    ("clipped", "clipped_norm", "dashdot", 3),
    ("applied", "applied_norm", "dot", 1),
)
"""Name, field of a Step, dash and colour."""
SPELLED = 5
"""Steps in a row with the same word from which on they are numbered."""


def scale_words(scale: float) -> str:
    """A scale as a power of two where it is one: 65536.0 -> "2^16 = 65 536"."""
    exponent = log2_or_none(scale)
    plain = plain_scale(scale)
    return f"2^{exponent:.0f} = {plain}" if exponent is not None and exponent == round(exponent) else plain


def short_scale(scale: float) -> str:
    """For narrow cells: 65536.0 -> "2^16"."""
    exponent = log2_or_none(scale)
    return f"2^{exponent:.0f}" if exponent is not None and exponent == round(exponent) else plain_scale(scale)


def plain_scale(scale: float) -> str:
    """Whole numbers to the last digit, others with six digits."""
    return format_count(int(scale)) if scale.is_integer() and abs(scale) < 1e15 else f"{scale:.6g}"


def timeline(run: Run, beside: Run | None, theme: Theme) -> go.Figure:
    """Three charts over the steps: log2 of the scale with its events, norms (log), loss; skipped steps are shaded."""
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, row_heights=[0.42, 0.34, 0.24], vertical_spacing=0.05)
    steps = run.steps
    _add_scale(figure, steps, theme)
    _add_events(figure, steps, theme)
    for name, field, dash, place in NORMS:
        _add_norm(figure, steps, (name, field, dash), CATEGORICAL[place][theme == "dark"])
    _add_loss(figure, run, theme)
    for row, field in ((2, "scaled_norm"), (3, "loss")):
        _name_non_finite(figure, steps, field, row, theme)
    if beside is not None:
        _add_beside(figure, beside, theme)
    for step in steps:
        if step.skipped:
            fill = meaning("skipped").accent(theme)
            figure.add_vrect(step.number - 0.5, step.number + 0.5, fillcolor=fill, opacity=0.13, line_width=0)
    _axes(figure, run, max(len(one.steps) for one in (run, beside or run)), theme)
    return styled(figure, HEIGHT, theme, hovermode="closest", margin={"l": 8, "r": 16, "t": 64, "b": 44})


def log2_or_none(scale: float) -> float | None:
    return math.log2(scale) if scale > 0 and math.isfinite(scale) else None


def _add_scale(figure: go.Figure, steps: Sequence[Step], theme: Theme) -> None:
    x = [end for step in steps for end in (step.number - 0.5, step.number + 0.5)]
    y = [log2_or_none(step.scale_before) for step in steps for _ in range(2)]
    if steps:
        x, y = [*x, steps[-1].number + 0.5], [*y, log2_or_none(steps[-1].scale_after)]
    colour = TEXT[theme]
    figure.add_scatter(x=x, y=y, mode="lines", name="scale", line={"color": colour, "width": 2}, hoverinfo="skip")


def _add_events(figure: go.Figure, steps: Sequence[Step], theme: Theme) -> None:
    taken = [step for step in steps if not step.skipped]
    _markers(figure, taken, ("step taken", "circle", meaning("representable").accent(theme), 7))
    skipped = [step for step in steps if step.skipped]
    _markers(figure, skipped, ("step skipped", "x", meaning("skipped").accent(theme), 10))
    for event, symbol in (("growth", "triangle-up"), ("backoff", "triangle-down")):
        found = [step for step in steps if step.event == event]
        if found:
            figure.add_scatter(
                x=[step.number + 0.5 for step in found],
                y=[log2_or_none(step.scale_after) for step in found],
                mode="markers",
                name=event,
                marker={"symbol": f"{symbol}-open", "size": 12, "color": TEXT[theme], "line": {"width": 2}},
                text=[f"<b>{event}</b> after step {s.number}<br>scale {scale_words(s.scale_after)}" for s in found],
                hovertemplate="%{text}<extra></extra>",
            )


def _markers(figure: go.Figure, steps: Sequence[Step], look: tuple[str, str, str, int]) -> None:
    name, symbol, colour, size = look
    if steps:
        figure.add_scatter(
            x=[step.number for step in steps],
            y=[log2_or_none(step.scale_before) for step in steps],
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": size, "color": colour},
            text=[step_words(step) for step in steps],
            hovertemplate="%{text}<extra></extra>",
        )


def step_words(step: Step) -> str:
    """What happened in a step, for hovering."""
    bad = sum(count or 0 for count in step.non_finite)
    what = f"skipped: {bad} gradient entries are inf or nan" if step.skipped else "taken"
    return (
        f"<b>step {step.number}</b> {what}<br>scale {scale_words(step.scale_before)}<br>"
        f"growth tracker then {step.growth_tracker}<br>loss {format_significant(step.loss, 4)}"
    )


def _add_norm(figure: go.Figure, steps: Sequence[Step], look: tuple[str, str, str], colour: str) -> None:
    name, field, dash = look
    values = [getattr(step, field) for step in steps]
    if any(value is not None for value in values):
        figure.add_scatter(
            row=2,
            col=1,
            x=[step.number for step in steps],
            y=[value if value is not None and math.isfinite(value) and value > 0 else None for value in values],
            mode="lines+markers",
            name=f"norm {name}",
            marker={"size": 4},
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"step %{{x}}: {name} norm %{{y:.4g}}<extra></extra>",
        )


def _add_loss(figure: go.Figure, run: Run, theme: Theme) -> None:
    figure.add_scatter(
        row=3,
        col=1,
        x=[step.number for step in run.steps],
        y=[step.loss if math.isfinite(step.loss) else None for step in run.steps],
        mode="lines+markers",
        name="loss",
        marker={"size": 4},
        line={"color": TEXT[theme], "width": 2},
        hovertemplate="step %{x}: loss %{y:.4g}<extra></extra>",
    )


def _name_non_finite(figure: go.Figure, steps: Sequence[Step], field: str, row: int, theme: Theme) -> None:
    """Where a curve has no point because its value is inf or nan, that word stands in its place."""
    for word, group in groupby(steps, lambda step: non_finite_word(getattr(step, field))):
        if not word:
            continue
        numbers = [step.number for step in group]
        figure.add_annotation(
            row=row,
            col=1,
            x=(numbers[0] + numbers[-1]) / 2,
            y=0.96,
            yref="y domain",
            yanchor="top",
            text=word if len(numbers) < SPELLED else f"{word} in steps {numbers[0]} to {numbers[-1]}",
            showarrow=False,
            font={"size": 11, "color": meaning("skipped").accent(theme)},
        )


def non_finite_word(value: float | None) -> str:
    """ "inf", "-inf" or "nan"; "" for any other value."""
    return "" if value is None or math.isfinite(value) else f"{value:g}"


def _add_beside(figure: go.Figure, beside: Run, theme: Theme) -> None:
    for row, field, name in ((2, "applied_norm", "applied"), (3, "loss", "loss")):
        values = [getattr(step, field) for step in beside.steps]
        figure.add_scatter(
            row=row,
            col=1,
            x=[step.number for step in beside.steps],
            y=[value if value is not None and math.isfinite(value) else None for value in values],
            mode="lines+markers",
            name=f"{name}, {beside.name}",
            marker={"symbol": "circle-open", "size": 8, "color": MUTED[theme]},
            line={"color": MUTED[theme], "width": 3.5, "dash": "longdash"},
            opacity=0.75,
            hovertemplate=f"step %{{x}}: {name} %{{y:.4g}}, {beside.name}<extra></extra>",
        )


def _axes(figure: go.Figure, run: Run, last: int, theme: Theme) -> None:
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    figure.update_xaxes(**grid, range=[0.4, last + 0.9])
    figure.update_xaxes(title="step", row=3, col=1, dtick=max(1, last // 15), tick0=1)
    logs = [
        found for s in run.steps for v in (s.scale_before, s.scale_after) if (found := log2_or_none(v)) is not None
    ] or [16.0]
    low, high = min(logs), max(logs)
    every = max(1, math.ceil((high - low + 2) / 7))
    ticks = list(range(math.floor(low) - 1, math.ceil(high) + 2, every))
    figure.update_yaxes(
        **grid, title="scale", tickvals=ticks, ticktext=[f"2<sup>{t}</sup>" for t in ticks], row=1, col=1,
        range=[low - 1, high + 1],
    )  # fmt: skip
    figure.update_yaxes(**grid, title="norm of all gradients", type="log", exponentformat="power", row=2, col=1)
    figure.update_yaxes(**grid, title="loss", row=3, col=1)
