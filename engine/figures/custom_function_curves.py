"""A custom Function over x: its forward, its backward, three other derivatives, and where they part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from engine.custom_function.results import CheckedFunction, Curve
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.arrays import array
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import TEXT, Theme, meaning

HEIGHT = 470
FLOOR = 1e-17
"""Differences of 0 are drawn here, on a log axis."""
MOST_SHADES = 40
POLE = 20
"""How many times higher than the middle of its values a curve is when it has a pole."""
Values = NDArray[np.float64]
LINES: tuple[tuple[str, str, str, str, float], ...] = (
    ("forward", "forward", "output", "dot", 1.5),
    ("analytic", "its backward", "custom_function", "solid", 3.5),
    ("autograd", "autograd of the formula", "operation", "dash", 2.5),
    ("numeric", "central difference", "input", "dashdot", 1.5),
    ("complex_step", "complex step", "parameter", "longdash", 1.5),
)
"""(field, words, meaning of its colour, dash, width), in the order they are drawn."""


def values_of(curve: Curve, name: str) -> Values | None:
    """One column of a curve as float64, None where there is none."""
    stored = getattr(curve, name)
    return None if stored is None else array(stored).real.astype(np.float64)


def reference_of(curve: Curve) -> tuple[str, Values]:
    """What backward is held against: the complex step where there is one, else the central difference."""
    exact = values_of(curve, "complex_step")
    if exact is not None:
        return "complex step", exact
    numeric = values_of(curve, "numeric")
    assert numeric is not None
    return "central difference", numeric


def differing(curve: Curve, atol: float, rtol: float) -> NDArray[np.bool_]:
    """Where backward is further from the reference than atol + rtol * |reference|, as far as there are both."""
    ours, reference = values_of(curve, "analytic"), reference_of(curve)[1]
    if ours is None:
        return np.zeros(reference.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        off = ~(np.abs(ours - reference) <= atol + rtol * np.abs(reference))
    return off & np.isfinite(reference)


def runs_of(mask: Sequence[bool] | NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(first, last) index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.asarray(mask, dtype=bool), [False]]).astype(int)))
    return [(int(first), int(end) - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def curves_chart(spec: CustomFunctionSpec, found: CheckedFunction, curve: Curve, theme: Theme = "light") -> go.Figure:
    """Curves above, distances from the reference below on a log axis; shaded where backward is not the derivative."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.05)
    x = array(curve.x)
    for name, words, key, dash, width in LINES:
        values = values_of(curve, name)
        if values is not None:
            line = {"color": meaning(key).accent(theme), "dash": dash, "width": width}
            _add(figure, x, values, words, line)
    _add_points(figure, spec, found, curve, theme)
    _add_distances(figure, x, curve, theme)
    _shade(figure, x, differing(curve, spec.atol, spec.rtol), theme)
    scale = "" if spec.grad_output == 1 else f", times grad_output = {spec.grad_output:g}"
    figure.update_yaxes(title=f"value{scale}", range=range_of(curve), gridcolor=grid_colour(theme), row=1, col=1)
    figure.update_yaxes(title="distance", type="log", gridcolor=grid_colour(theme), **_decades(curve), row=2, col=1)
    figure.update_yaxes(automargin=True, title_standoff=6)
    figure.update_xaxes(gridcolor=grid_colour(theme), zeroline=False)
    figure.update_xaxes(title="x", row=2, col=1)
    margin, bar = {"l": 8, "r": 16, "t": 40, "b": 44}, {"orientation": "v", "bgcolor": "rgba(0,0,0,0)"}
    return styled(figure, HEIGHT, theme, hovermode="x unified", margin=margin, modebar=bar)


def _decades(curve: Curve) -> dict[str, Any]:
    """Ticks of the distances: every fourth decade, from rounding up to the largest."""
    reference = reference_of(curve)[1]
    lines = [found for name in ("analytic", "autograd", "numeric") if (found := values_of(curve, name)) is not None]
    with np.errstate(invalid="ignore"):
        apart = [np.abs(line - reference) for line in lines]
    largest = max((float(one[np.isfinite(one)].max(initial=0.0)) for one in apart), default=1.0)
    top = math.log10(max(largest, 1e-12)) + 0.5
    decades = range(-16, math.ceil(top) + 1, 4)
    words = ["1" if place == 0 else f"1e{place}" for place in decades]
    return {"tickvals": [10.0**place for place in decades], "ticktext": words, "range": [math.log10(FLOOR) - 0.3, top]}


def _add(figure: go.Figure, x: Values, y: Values, words: str, line: dict[str, Any], row: int = 1) -> None:
    figure.add_scatter(
        x=x, y=y, mode="lines", name=words, line=line, row=row, col=1, hovertemplate="%{y:.6g}", showlegend=row == 1
    )


def _add_distances(figure: go.Figure, x: Values, curve: Curve, theme: Theme) -> None:
    """How far backward, autograd and the difference are from the reference."""
    reference_name, reference = reference_of(curve)
    for name, words, key, dash, width in LINES[1:4]:
        values = values_of(curve, name)
        if values is not None and words != reference_name:
            distance = np.maximum(np.abs(values - reference), FLOOR)
            line = {"color": meaning(key).accent(theme), "dash": dash, "width": max(1.5, width - 1)}
            _add(figure, x, distance, f"{words} − {reference_name}", line, row=2)


def _add_points(
    figure: go.Figure, spec: CustomFunctionSpec, found: CheckedFunction, curve: Curve, theme: Theme
) -> None:
    """The points that gradcheck was given, at what backward gave there; a cross where a Jacobian entry is off."""
    places = gradcheck_points(spec, found, curve)
    groups = (
        ("gradcheck's points", "kept_sparse", "circle", [p[:2] for p in places if not p[2] and math.isfinite(p[1])]),
        ("off at gradcheck's points", "wrong", "x", [p[:2] for p in places if p[2] and math.isfinite(p[1])]),
        ("backward is NaN or ∞", "non_finite", "cross", non_finite_points(places, curve)),
    )
    for words, key, symbol, chosen in groups:
        if chosen:
            figure.add_scatter(
                x=[x for x, _ in chosen],
                y=[y for _, y in chosen],
                mode="markers",
                name=words,
                marker={
                    "symbol": symbol,
                    "size": 10,
                    "color": meaning(key).accent(theme),
                    "line": {"width": 1, "color": TEXT[theme]},
                },
                hovertemplate="%{y:.6g}" if key != "non_finite" else "backward is NaN or ∞, drawn at the reference",
                row=1,
                col=1,
            )


def gradcheck_points(spec: CustomFunctionSpec, found: CheckedFunction, curve: Curve) -> list[tuple[float, float, bool]]:
    """(x, gradient there, whether its column of the Jacobian is off) of real points that the curve shows."""
    gradients = found.call.gradients
    if not gradients or gradients[0] is None or len(found.call.outputs) != 1 or spec.dtype == "complex128":
        return []
    x, y = array(found.inputs[0]).reshape(-1), array(gradients[0]).reshape(-1)
    off = np.zeros(x.shape, dtype=bool)
    for pair in found.check.pairs:
        if pair.input == 0 and pair.output == curve.output:
            ours, true = array(pair.analytical), array(pair.numerical)
            off |= (~(np.abs(ours - true) <= spec.atol + spec.rtol * np.abs(true))).any(axis=0)
    inside = (x >= spec.x_from) & (x <= spec.x_to)
    return [(float(a), float(b), bool(c)) for a, b, c in zip(x[inside], y[inside], off[inside], strict=True)]


def non_finite_points(places: Sequence[tuple[float, float, bool]], curve: Curve) -> list[tuple[float, float]]:
    """Points where backward is NaN or infinite, at the height of the reference (0 where that has none)."""
    x, reference = array(curve.x), reference_of(curve)[1]
    finite = np.isfinite(reference)
    heights = np.interp([p[0] for p in places], x[finite], reference[finite]) if finite.any() else np.zeros(len(places))
    return [(p[0], float(y)) for p, y in zip(places, heights, strict=True) if not math.isfinite(p[1])]


def _shade(figure: go.Figure, x: Values, mask: NDArray[np.bool_], theme: Theme) -> None:
    """One band over both charts per run."""
    half = (x[1] - x[0]) / 2
    look = {"fillcolor": meaning("wrong").accent(theme), "opacity": 0.13, "line": {"width": 0}, "layer": "below"}
    bands = [
        {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1}
        | {"x0": float(x[first] - half), "x1": float(x[last] + half)}
        | look
        for first, last in runs_of(mask)[:MOST_SHADES]
    ]
    figure.update_layout(shapes=bands)


def range_of(curve: Curve) -> list[float] | None:
    """From the lines that do not shoot up at a jump: a central difference over one is 1 / step high.

    A pole would flatten all else: where the ends are far from the middle of the values, the middle is shown.
    """
    lines = [found for name in ("forward", "analytic", "autograd") if (found := values_of(curve, name)) is not None]
    finite = np.concatenate([line[np.isfinite(line)] for line in lines])
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    middle = [float(end) for end in np.percentile(finite, (2, 98))]
    if high - low > POLE * (middle[1] - middle[0]) > 0:
        low, high = middle
    room = 0.06 * (high - low) or 0.5
    return [low - room, high + room]
