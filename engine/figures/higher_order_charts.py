"""Higher derivatives as charts: the curve of every order, nodes per order, growth with n, and power iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.figures.arrays import array
from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import CATEGORICAL, MUTED, TEXT, Theme, meaning
from engine.figures.timing_chart import DASHES, SYMBOLS
from engine.figures.units import MINUS, format_bytes, format_significant, format_time
from engine.higher_order.results import Curvature, Derivatives, Growth, Products

CURVES_HEIGHT, SMALL_HEIGHT, CHART_HEIGHT = 430, 300, 380
POLES, CLIPPED_FROM = 0.02, 1000.0
"""Share of the values at either end that may be a pole's, and how many times the rest's range makes them one."""
TITLES = ("f", "f′", "f″", "f‴", "f⁗")
CLAIMED_MEMORY = 0.9
CLAIMED_TIMES = (3.0, 5.0)
"""What the article says of its product: about 90 % less memory, three to five times as fast."""


def colour_of(place: int, theme: Theme) -> str:
    """Of an order or a way: its place in the order of the page."""
    return CATEGORICAL[place % len(CATEGORICAL)][theme == "dark"]


def derivative_chart(found: Derivatives, at: float, theme: Theme) -> go.Figure:
    """Every order over x, autograd's as a line, the second method as rings on it, the chosen x as a vertical line."""
    figure, x = go.Figure(), array(found.x)
    for curve in found.curves:
        colour, title = colour_of(curve.order, theme), TITLES[curve.order]
        figure.add_scatter(
            x=x,
            y=array(curve.autograd),
            name=title,
            line={"color": colour, "width": 2.5, "dash": DASHES[curve.order]},
            hovertemplate=f"{title}(%{{x:.3g}}) = %{{y:.4g}}<extra></extra>",
        )
        second = curve.closed_form or curve.forward_mode
        by = "hand" if curve.closed_form else "torch.func.jvp"
        if second is not None and curve.order:
            every = slice(None, None, max(1, x.size // 24))
            figure.add_scatter(
                x=x[every],
                y=array(second)[every],
                mode="markers",
                name=f"rings: by {by}",
                showlegend=curve.order == 1,
                marker={"color": colour, "size": 8, "symbol": f"{SYMBOLS[curve.order]}-open", "line": {"width": 1.5}},
                hovertemplate=f"{title} by {by}: %{{y:.4g}}<extra></extra>",
            )
    figure.add_vline(x=at, line={"color": MUTED[theme], "width": 1, "dash": "dash"})
    _mark_point(figure, found, at, theme)
    limits = curve_limits(found)
    _axes(figure, theme, "x", "" if limits is None else f"clipped: values reach {_reach(found)}")
    figure.update_yaxes(range=limits)
    return styled(figure, CURVES_HEIGHT, theme, hovermode="closest")


def curve_limits(found: Derivatives) -> tuple[float, float] | None:
    """Ends of the value axis that hold all but the poles of the curves; None where every value can be shown."""
    values = _finite(found)
    if not values.size:
        return None
    low, high = np.quantile(values, (POLES, 1 - POLES))
    room = float(high - low)
    if float(values.max() - values.min()) <= CLIPPED_FROM * room or not room:
        return None
    shown = [one.value for one in found.orders if one.value is not None and abs(one.value) <= 10 * room]
    return min([float(low), *shown]) - 0.1 * room, max([float(high), *shown]) + 0.1 * room


def _finite(found: Derivatives) -> NDArray[np.float64]:
    values = np.concatenate([array(one.autograd).ravel() for one in found.curves] or [np.empty(0)]).astype(np.float64)
    return values[np.isfinite(values)]


def _reach(found: Derivatives) -> str:
    return format_significant(float(np.abs(_finite(found)).max()))


def _mark_point(figure: go.Figure, found: Derivatives, at: float, theme: Theme) -> None:
    shown = [one for one in found.orders if one.value is not None]
    figure.add_scatter(
        x=[at] * len(shown),
        y=[one.value for one in shown],
        mode="markers",
        name="at x, as recorded",
        marker={
            "color": [colour_of(one.order, theme) for one in shown],
            "symbol": [SYMBOLS[one.order] for one in shown],
            "size": 11,
            "line": {"color": TEXT[theme], "width": 1},
        },
        text=[TITLES[one.order] for one in shown],
        hovertemplate="%{text}(%{x:.4g}) = %{y:.6g}<extra></extra>",
        showlegend=False,
    )


def node_chart(found: Derivatives, theme: Theme) -> go.Figure:
    """Nodes recorded behind the value of each order."""
    orders = [one for one in found.orders if one.outcome == "value"]
    figure = go.Figure()
    figure.add_bar(
        x=[TITLES[one.order] for one in orders],
        y=[one.nodes for one in orders],
        text=[str(one.nodes) for one in orders],
        textposition="outside",
        cliponaxis=False,
        marker={"color": [colour_of(one.order, theme) for one in orders]},
        hovertemplate="%{x}: %{y} nodes<extra></extra>",
        width=0.6,
    )
    most = max((one.nodes for one in orders), default=1)
    _axes(figure, theme, "", "nodes behind it")
    figure.update_yaxes(range=[0, max(1, most) * 1.18], **({"dtick": 1} if most <= 6 else {}))
    return styled(figure, CURVES_HEIGHT, theme, showlegend=False)


def growth_chart(growth: Sequence[Growth], order: Sequence[str], what: str, theme: Theme) -> go.Figure:
    """Peak bytes or seconds over n, both logarithmic, one line per way with the power of n fitted to it."""
    figure = go.Figure()
    for one in growth:
        values = one.peak_bytes if what == "bytes" else one.seconds
        exponent = one.bytes_exponent if what == "bytes" else one.seconds_exponent
        place = list(order).index(one.name)
        fitted = "" if exponent is None else f", ≈ n^{exponent:.2f}".replace("-", MINUS)
        words = [format_bytes(value) if what == "bytes" else format_time(value) for value in values]
        figure.add_scatter(
            x=one.sizes,
            y=values,
            name=one.name + fitted,
            mode="lines+markers",
            text=words,
            line={"color": colour_of(place, theme), "dash": DASHES[place % len(DASHES)], "width": 2},
            marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9},
            hovertemplate="n = %{x}: %{text}<extra></extra>",
        )
    _axes(figure, theme, "n (log scale)", "peak bytes (log)" if what == "bytes" else "time per call (log)")
    figure.update_xaxes(type="log", tickvals=growth[0].sizes if growth else [])
    _log_axis(figure, [v for one in growth for v in (one.peak_bytes if what == "bytes" else one.seconds)], what)
    return styled(figure, CHART_HEIGHT, theme, legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0})


def _log_axis(figure: go.Figure, values: Sequence[float], what: str) -> None:
    """Ticks at powers of 2 for bytes, which read as whole KiB, and of 10 for seconds; at most about six."""
    positive = [value for value in values if value > 0]
    if not positive:
        return
    base = 2.0 if what == "bytes" else 10.0
    low, high = math.floor(math.log(min(positive), base)), math.ceil(math.log(max(positive), base))
    ticks = [base**power for power in range(low, high + 1, max(1, (high - low) // 5))]
    words = [format_bytes(tick) if what == "bytes" else format_time(tick) for tick in ticks]
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=words)


def savings(found: Products) -> list[tuple[int, float, float]]:
    """(n, share of bytes saved, times as fast) of double backward against the full Hessian at every n measured."""
    by_name = {one.name: one for one in found.growth}
    first, full = by_name.get("double backward"), by_name.get("full Hessian @ v")
    if first is None or full is None:
        return []
    return [
        (n, 1 - less / more, slow / fast if fast else math.nan)
        for n, less, more, fast, slow in zip(
            first.sizes, first.peak_bytes, full.peak_bytes, first.seconds, full.seconds, strict=True
        )
    ]


def convergence_chart(found: Curvature, theme: Theme) -> go.Figure:
    """The estimate's distance to the exact eigenvalue, where known, and the residual, over products; logarithmic."""
    figure = go.Figure()
    steps = np.arange(1, len(found.iterations) + 1)
    lines: list[tuple[str, list[float]]] = [("|Hv − λv|", [one.residual for one in found.iterations])]
    if found.largest is not None:
        lines.append(("|λ − eigvalsh|", [abs(one.eigenvalue - found.largest) for one in found.iterations]))
    for place, (name, values) in enumerate(lines):
        shown = [value if value > 0 else None for value in values]
        figure.add_scatter(
            x=steps,
            y=shown,
            name=name,
            mode="lines+markers",
            line={"color": colour_of(place, theme), "dash": DASHES[place]},
            marker={"symbol": SYMBOLS[place], "size": 6},
            hovertemplate=f"product %{{x}}: {name} = %{{y:.3g}}<extra></extra>",
        )
    if found.expected_rate and found.iterations:
        start = found.iterations[0].residual
        guide = [start * found.expected_rate ** float(step - 1) for step in steps]
        figure.add_scatter(
            x=steps,
            y=guide,
            name=f"expected: × {format_significant(found.expected_rate)} a step",
            mode="lines",
            line={"color": MUTED[theme], "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    _axes(figure, theme, "Hessian-vector products", "error (log scale)")
    figure.update_yaxes(type="log", exponentformat="power", dtick=2)
    return styled(figure, CHART_HEIGHT, theme)


def spectrum_chart(found: Curvature, theme: Theme) -> go.Figure:
    """All eigenvalues of the full Hessian in order, the one of largest magnitude marked, the estimate as a line."""
    figure = go.Figure()
    places = list(range(1, len(found.exact) + 1))
    largest = found.largest
    marked = [value == largest for value in found.exact]
    accent, plain = meaning("gradient").accent(theme), meaning("operation").accent(theme)
    figure.add_scatter(
        x=places,
        y=found.exact,
        mode="markers",
        marker={
            "color": [accent if one else plain for one in marked],
            "symbol": ["star" if one else "circle" for one in marked],
            "size": [13 if one else 6 for one in marked],
        },
        hovertemplate="%{y:.5g}<extra></extra>",
        showlegend=False,
    )
    if found.eigenvalue is not None:
        figure.add_hline(y=found.eigenvalue, line={"color": accent, "dash": "dash", "width": 1.5})
    _axes(figure, theme, "eigenvalues of the full Hessian, ascending", "")
    return styled(figure, CHART_HEIGHT, theme)


def _axes(figure: go.Figure, theme: Theme, x_title: str, y_title: str) -> None:
    common: dict[str, Any] = {"gridcolor": grid_colour(theme), "zerolinecolor": grid_colour(theme)}
    figure.update_xaxes(title=x_title, **common)
    figure.update_yaxes(title=y_title, automargin=True, **common)
