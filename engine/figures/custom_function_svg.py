"""The curves of a custom Function as one self-contained SVG with the verdict in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.custom_function.results import CheckedFunction, Curve
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.arrays import array
from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.custom_function_curves import (
    LINES,
    differing,
    gradcheck_points,
    non_finite_points,
    range_of,
    runs_of,
    values_of,
)
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_significant, shorten

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 460, 64, 20, 96, 40
DASHES = {"solid": "", "dash": "8 5", "dot": "2 4", "dashdot": "8 4 2 4", "longdash": "14 5"}
Ends = tuple[float, float]


def curves_svg(spec: CustomFunctionSpec, found: CheckedFunction, curve: Curve, theme: Theme = "light") -> str:
    """The curves over x, shaded where backward is not the derivative, gradcheck's points, legend and verdict."""
    x = array(curve.x)
    across, up = (float(x[0]), float(x[-1])), _ends(range_of(curve))
    title = f"{spec.function}: {found.verdict.kind}"
    body = [svg_text(LEFT, 30, title, TEXT[theme], 19, weight=700)]
    body.append(svg_text(LEFT, 52, shorten(found.verdict.sentence, 118), MUTED[theme], 12))
    body += _shades(x, differing(curve, spec.atol, spec.rtol), across, theme)
    body += _axes(across, up, theme)
    body += _lines(curve, across, up, theme)
    places = gradcheck_points(spec, found, curve)
    body += _points(places, dict(non_finite_points(places, curve)), across, up, theme)
    return svg_page(WIDTH, HEIGHT, title, body, theme)


def _ends(found: list[float] | None) -> Ends:
    return (found[0], found[1]) if found is not None else (-1.0, 1.0)


def _x(value: float, ends: Ends) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (value - ends[0]) / (ends[1] - ends[0])


def _y(value: float, ends: Ends) -> float:
    place = TOP + (HEIGHT - TOP - BOTTOM) * (ends[1] - value) / (ends[1] - ends[0])
    return float(min(max(place, TOP), HEIGHT - BOTTOM))


def _lines(curve: Curve, across: Ends, up: Ends, theme: Theme) -> list[str]:
    """Every curve as a path, and its entry of the legend above."""
    drawn, x, place = [], array(curve.x), LEFT
    for name, words, key, dash, width in LINES:
        values = values_of(curve, name)
        if values is None:
            continue
        style = f'stroke="{meaning(key).accent(theme)}" stroke-width="{width}" stroke-dasharray="{DASHES[dash]}"'
        drawn.append(f'<path d="{_path(x, values, across, up)}" fill="none" {style}/>')
        drawn.append(f'<path d="M{place} 76h26" fill="none" {style}/>')
        drawn.append(svg_text(place + 31, 80, words, TEXT[theme], 12))
        place += 48 + 7 * len(words)
    return drawn


def _path(x: NDArray[np.float64], values: NDArray[np.float64], across: Ends, up: Ends) -> str:
    parts, pen = [], "M"
    for at, value in zip(x, values, strict=True):
        if not np.isfinite(value):
            pen = "M"
            continue
        parts.append(f"{pen}{_x(float(at), across):.1f} {_y(float(value), up):.1f}")
        pen = "L"
    return "".join(parts)


def _shades(x: NDArray[np.float64], mask: NDArray[np.bool_], across: Ends, theme: Theme) -> list[str]:
    return [
        f'<rect x="{_x(float(x[first]), across):.1f}" y="{TOP}" height="{HEIGHT - TOP - BOTTOM}" '
        f'width="{max(1.0, _x(float(x[last]), across) - _x(float(x[first]), across)):.1f}" '
        f'fill="{meaning("wrong").accent(theme)}" fill-opacity=".13"/>'
        for first, last in runs_of(mask)
    ]


def _points(
    places: list[tuple[float, float, bool]], burst: dict[float, float], across: Ends, up: Ends, theme: Theme
) -> list[str]:
    """A mark per point; those of `burst`, where backward is not finite, at the height given there."""
    drawn = []
    for at, value, off in places:
        key = meaning("wrong" if off else "kept_sparse")
        mark = "M-5-5L5 5M-5 5L5-5" if off else "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1-4 0"
        if at in burst:
            key, mark = meaning("non_finite"), "M-6 0H6M0-6V6"
        place = f"translate({_x(at, across):.1f} {_y(burst.get(at, value), up):.1f})"
        drawn.append(
            f'<path transform="{place}" d="{mark}" fill="none" stroke="{key.accent(theme)}" stroke-width="2.5"/>'
        )
    return drawn


def _axes(across: Ends, up: Ends, theme: Theme) -> list[str]:
    bottom = HEIGHT - BOTTOM
    lines = [f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="{LINE[theme]}"/>']
    for number in range(5):
        value = up[0] + (up[1] - up[0]) * number / 4
        lines.append(svg_text(LEFT - 8, _y(value, up) + 4, format_significant(value), MUTED[theme], 11, anchor="end"))
        value = across[0] + (across[1] - across[0]) * number / 4
        lines.append(
            svg_text(_x(value, across), bottom + 18, format_significant(value), MUTED[theme], 11, anchor="middle")
        )
    return lines
