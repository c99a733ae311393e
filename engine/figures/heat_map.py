"""A matrix as a heat map: zero, NaN and infinity stand apart from every value, and values are printed when few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.figures.arrays import as_matrix, is_signed, summary_map
from engine.figures.chart_style import styled
from engine.figures.palette import DIVERGING, LINE, MUTED, SEQUENTIAL, SURFACE, TEXT, Theme, meaning, mix
from engine.figures.reduced import Reduced, reduce
from engine.figures.units import MINUS, format_significant, shorten
from engine.summary import TensorSummary

PRINTED_SIDE = 12
LABEL_CHARACTERS = 18
TITLE_CHARACTERS = 60
MOST_MARKS = 400
MOST_TICKS = 24
CELL_PIXELS = 34
HEIGHTS = (150, 460)


def heat_map(
    values: NDArray[Any],
    theme: Theme,
    *,
    title: str,
    diverging: bool = True,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    marked: Sequence[tuple[int, int]] = (),
    note: str = "",
    limits: float | None = None,
    digits: int | None = None,
) -> go.Figure:
    """The matrix with its first row on top; `diverging` for signed values, else magnitudes from 0.

    Complex values are drawn by magnitude. `rows` and `columns` name indices, `marked` cells (row, column) get a frame.
    Zeros are flat grey, NaN and infinite cells carry the colour and cross of non-finite. A side over LARGEST_SIDE is
    drawn as blocks, each by its element of largest magnitude, which the title then says. `note` follows it, small.
    `limits`: the magnitude at the ends of the colours, so that maps side by side share one (default: here).
    `digits` of printed values: 3, of complex ones and in over six columns 2.
    """
    matrix = as_matrix(np.asarray(values))
    signed = diverging and not np.iscomplexobj(matrix)
    drawn = reduce(matrix)
    figure = go.Figure()
    if matrix.size:
        _add_cells(figure, drawn, signed, theme, (rows, columns), limits, digits)
        _add_crosses(figure, drawn, theme)
        _add_marked(figure, drawn, marked, theme)
    else:
        figure.add_annotation(text="no elements", showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper")
    _name_axes(figure, drawn, rows, columns)
    return _laid_out(figure, drawn, (title, note), theme)


def summary_heat_map(summary: TensorSummary, theme: Theme, *, title: str, limits: float | None = None) -> go.Figure:
    """The heat map of a summarised tensor: its values, or of a large one the largest magnitudes of its blocks."""
    by_blocks = summary.values is None and summary.block_map is not None
    note = "largest magnitude of each block" if by_blocks else ""
    return heat_map(summary_map(summary), theme, title=title, diverging=is_signed(summary), note=note, limits=limits)


def shared_limits(summaries: Sequence[TensorSummary]) -> float | None:
    """`limits` for maps of several tensors side by side: the largest finite magnitude drawn; None without one."""
    drawn = [np.abs(np.asarray(summary_map(one))) for one in summaries]
    return max((float(one[np.isfinite(one)].max()) for one in drawn if np.isfinite(one).any()), default=0.0) or None


def diverging_scale(theme: Theme) -> list[tuple[float, str]]:
    """Plotly's stops from -1 to 1. The smallest values of either sign are already tinted: only zero has no colour."""
    which = 0 if theme == "light" else 1
    negative, positive = DIVERGING[0][which], DIVERGING[1][which]
    ground = SURFACE[theme]
    return [
        (0.0, negative),
        (0.25, mix(ground, negative, 0.6)),
        (0.5, mix(ground, negative, 0.22)),
        (0.5, mix(ground, positive, 0.22)),
        (0.75, mix(ground, positive, 0.6)),
        (1.0, positive),
    ]


def sequential_scale(theme: Theme) -> list[tuple[float, str]]:
    """Plotly's stops from 0 to the largest magnitude."""
    which = 0 if theme == "light" else 1
    colours = [mix(SURFACE[theme], SEQUENTIAL[0][which], 0.35), *(pair[which] for pair in SEQUENTIAL[1:])]
    return [(step / (len(colours) - 1), colour) for step, colour in enumerate(colours)]


def value_text(value: complex | float, digits: int = 3) -> str:
    """A cell's value as read: complex ones with both parts."""
    if not isinstance(value, complex):
        return format_significant(float(value), digits)
    imaginary = format_significant(value.imag, digits)
    sign = "" if imaginary.startswith(MINUS) else "+"
    return f"{format_significant(value.real, digits)}{sign}{imaginary}j"


def label_text(text: str, characters: int = LABEL_CHARACTERS) -> str:
    """A label as Plotly may show it: cut, and with nothing in it read as markup or as a formula."""
    return escape(shorten(text, characters)).replace("$", "&#36;")


def _add_cells(
    figure: go.Figure,
    drawn: Reduced,
    signed: bool,
    theme: Theme,
    names: tuple[Sequence[str], Sequence[str]],
    limits: float | None,
    digits: int | None,
) -> None:
    """Three layers of one grid: values, zeros and non-finite ones, so that each has its own colour."""
    shown = drawn.values.real if signed else np.abs(drawn.values)
    finite, zero = np.isfinite(shown), drawn.values == 0
    largest = float(np.abs(shown[finite]).max()) if finite.any() else 0.0
    words = _hover_words(drawn, names)
    text = _printed(drawn, digits)
    layers: tuple[tuple[NDArray[np.bool_], dict[str, Any]], ...] = (
        (finite & ~zero, _value_layer(signed, limits or largest, theme)),
        (zero, _flat(mix(SURFACE[theme], LINE[theme], 0.16))),
        (~finite, _flat(mix(SURFACE[theme], meaning("non_finite").accent(theme), 0.75))),
    )
    for here, layer in layers:
        if here.any():
            figure.add_heatmap(
                z=np.where(here, shown if layer["showscale"] else 0.0, np.nan),
                customdata=words,
                hovertemplate="%{customdata}<extra></extra>",
                hoverongaps=False,
                xgap=1 if max(shown.shape) <= 64 else 0,
                ygap=1 if max(shown.shape) <= 64 else 0,
                **({} if text is None else _ink(np.where(here, text, ""))),
                **layer,
            )


def _value_layer(signed: bool, largest: float, theme: Theme) -> dict[str, Any]:
    limit = largest if 0 < largest < np.inf else 1.0
    ticks = _scale_ticks(limit, signed)
    bar = {"thickness": 10, "outlinewidth": 0, "tickvals": ticks, "ticktext": [_tick_text(one) for one in ticks]}
    scale = diverging_scale(theme) if signed else sequential_scale(theme)
    return {"colorscale": scale, "zmin": -limit if signed else 0.0, "zmax": limit, "colorbar": bar, "showscale": True}


def _scale_ticks(limit: float, signed: bool) -> list[float]:
    """Round values, 0 among them: one to three to either side."""
    rough = limit / (3 if signed else 5)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if factor * unit >= rough * (1 - 1e-9))
    most = math.floor(limit / step + 1e-9)
    return [step * place for place in range(-most if signed else 0, most + 1)]


def _tick_text(value: float) -> str:
    small = value and not 1e-4 <= abs(value) < 1e6
    return f"{value:.3g}".replace("-", MINUS) if small else f"{value:.6g}".replace("-", MINUS)


def _flat(colour: str) -> dict[str, Any]:
    return {"colorscale": [(0.0, colour), (1.0, colour)], "zmin": 0.0, "zmax": 1.0, "showscale": False}


def _hover_words(drawn: Reduced, names: tuple[Sequence[str], Sequence[str]]) -> NDArray[Any]:
    row = [_place(drawn.row_ranges[r], names[0], "row") for r in range(drawn.values.shape[0])]
    column = [_place(drawn.column_ranges[c], names[1], "column") for c in range(drawn.values.shape[1])]
    words = [
        [f"{row[r]}<br>{column[c]}<br><b>{_told(drawn.values[r, c])}</b>" for c in range(len(column))]
        for r in range(len(row))
    ]
    return np.array(words, dtype=object)


def _place(block: tuple[int, int], names: Sequence[str], kind: str) -> str:
    first, end = block
    if end - first > 1:
        return f"{kind}s {first} to {end - 1}"
    return f"{kind} {first}" + (f" · {label_text(names[first], 60)}" if first < len(names) else "")


def _told(value: Any) -> str:
    number = value.item()
    if np.isfinite(number):
        return f"exactly {value_text(number, 6)}" if number == 0 else value_text(number, 6)
    return f"non-finite: {value_text(number)}"


def _printed(drawn: Reduced, digits: int | None) -> NDArray[Any] | None:
    if max(drawn.values.shape) > PRINTED_SIDE:
        return None
    digits = digits or (2 if drawn.values.shape[1] > 6 or np.iscomplexobj(drawn.values) else 3)
    return np.array([[value_text(value.item(), digits) for value in row] for row in drawn.values], dtype=object)


def _ink(text: NDArray[Any]) -> dict[str, Any]:
    return {"text": text, "texttemplate": "%{text}", "textfont": {"size": 11}}


def _add_crosses(figure: go.Figure, drawn: Reduced, theme: Theme) -> None:
    """The mark of non-finite on cells whose values are not printed; on some of them where they are many."""
    places = np.argwhere(~np.isfinite(drawn.values))
    places = places[:: max(1, -(-len(places) // MOST_MARKS))]
    if len(places) and max(drawn.values.shape) > PRINTED_SIDE:
        figure.add_scatter(
            x=places[:, 1],
            y=places[:, 0],
            mode="markers",
            marker={"symbol": "x-thin", "size": 7, "line": {"width": 1.5, "color": TEXT[theme]}},
            hoverinfo="skip",
            showlegend=False,
        )


def _add_marked(figure: go.Figure, drawn: Reduced, marked: Sequence[tuple[int, int]], theme: Theme) -> None:
    for row, column in dict.fromkeys((drawn.row_of(r), drawn.column_of(c)) for r, c in marked[:MOST_MARKS]):
        corners = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
        figure.add_shape(type="rect", line={"color": TEXT[theme], "width": 2.5}, **corners)


def _name_axes(figure: go.Figure, drawn: Reduced, rows: Sequence[str], columns: Sequence[str]) -> None:
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "automargin": True, "constrain": "domain"}
    for update, ranges, names, extra in (
        (figure.update_xaxes, drawn.column_ranges, columns, {"side": "bottom"}),
        (figure.update_yaxes, drawn.row_ranges, rows, {"autorange": "reversed"}),
    ):
        update(**shared, **extra, **_ticks(ranges, names), visible=bool(ranges))


def _ticks(ranges: Sequence[tuple[int, int]], names: Sequence[str]) -> dict[str, Any]:
    step = max(1, -(-len(ranges) // MOST_TICKS))
    shown = range(0, len(ranges), step)
    firsts = [ranges[i][0] for i in shown]
    words = [label_text(names[i]) if i < len(names) else str(i) for i in firsts]
    return {"tickmode": "array", "tickvals": list(shown), "ticktext": words}


def _laid_out(figure: go.Figure, drawn: Reduced, words: tuple[str, str], theme: Theme) -> go.Figure:
    height = min(HEIGHTS[1], max(HEIGHTS[0], 90 + CELL_PIXELS * min(drawn.values.shape[0], PRINTED_SIDE)))
    notes = [words[1], f"blocks of {drawn.block_text}, each by its largest magnitude" if drawn.is_reduced else ""]
    title = figure_title(words[0], " · ".join(note for note in notes if note), theme)
    return styled(figure, height, theme, title=title, margin={"l": 8, "r": 8, "t": 56 if any(notes) else 40, "b": 30})


def figure_title(title: str, note: str, theme: Theme) -> dict[str, Any]:
    """Plotly's title at the left edge: one line, and below it a small one for the note."""
    small = f'<br><span style="color:{MUTED[theme]};font-size:11px;font-weight:400">{label_text(note, 90)}</span>'
    text = f'<span style="font-weight:600">{label_text(title, TITLE_CHARACTERS)}</span>{small if note else ""}'
    font = {"size": 13, "color": TEXT[theme]}
    place = {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top"}
    return {"text": text, "font": font, "pad": {"t": 14, "l": 4}, **place}


__all__ = ["figure_title", "heat_map", "label_text", "shared_limits", "summary_heat_map", "summary_map"]
