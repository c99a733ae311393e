"""A matrix as one self-contained SVG of coloured cells, for files and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import DIVERGING, LINE, MUTED, SURFACE, TEXT, Theme, meaning, mix
from engine.figures.reduced import reduce
from engine.figures.units import format_significant

WIDTH, MARGIN, TOP, FOOT = 620, 20, 56, 34
LARGEST_CELL = 40


def matrix_svg(values: NDArray[Any], theme: Theme = "light", *, title: str) -> str:
    """Cells in the same colours as the heat map: one for each sign, grey for exactly 0, one for non-finite."""
    drawn = reduce(np.asarray(values, dtype=np.float64)).values
    rows, columns = drawn.shape
    cell = min(LARGEST_CELL, (WIDTH - 2 * MARGIN) / max(columns, 1))
    finite = np.abs(drawn[np.isfinite(drawn)])
    largest = float(finite.max()) if finite.size else 0.0
    height = TOP + rows * cell + FOOT
    body = [
        f'<rect x="{MARGIN + c * cell:.2f}" y="{TOP + r * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}" '
        f'fill="{_colour(float(drawn[r, c]), largest, theme)}"/>'
        for r in range(rows)
        for c in range(columns)
    ]
    words = f"{values.shape[0]} × {values.shape[1]}, colours reach ±{format_significant(largest)}; grey is exactly 0"
    body.insert(0, svg_text(MARGIN, 32, title, TEXT[theme], 16, weight=700))
    body.append(svg_text(MARGIN, height - 12, words, MUTED[theme], 12))
    return svg_page(WIDTH, height, title, body, theme)


def _colour(value: float, largest: float, theme: Theme) -> str:
    ground = SURFACE[theme]
    if not np.isfinite(value):
        return mix(ground, meaning("non_finite").accent(theme), 0.75)
    if value == 0:
        return mix(ground, LINE[theme], 0.16)
    accent = DIVERGING[0 if value < 0 or len(DIVERGING) < 2 else 1][theme == "dark"]
    return mix(ground, accent, 0.22 + 0.78 * abs(value) / largest)
