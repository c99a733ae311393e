"""The Jacobians that gradcheck compares, as heat maps: by backward, by differences, and how far they are apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from engine.custom_function.results import CheckedFunction, JacobianPair, Worst
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.arrays import array
from engine.figures.heat_map import heat_map
from engine.figures.palette import Theme
from engine.figures.units import format_significant


def element_names(count: int, name: str, is_complex: bool) -> tuple[str, ...]:
    """Names of the rows or columns of a Jacobian: y[0], y[1], ... or Re y[0], Im y[0], ..."""
    if is_complex:
        return tuple(f"{'Im' if number % 2 else 'Re'} {name}[{number // 2}]" for number in range(count))
    return tuple(f"{name}[{number}]" for number in range(count))


def names_of(spec: CustomFunctionSpec, found: CheckedFunction, pair: JacobianPair) -> tuple[tuple[str, ...], ...]:
    """Names of the rows (elements of the output) and of the columns (elements of the input)."""
    is_complex = spec.dtype == "complex128"
    rows, columns = pair.analytical.shape
    output = "y" if len(found.call.outputs) == 1 else f"y{pair.output}"
    return element_names(rows, output, is_complex), element_names(columns, found.input_names[pair.input], is_complex)


def outside(spec: CustomFunctionSpec, pair: JacobianPair) -> NDArray[np.bool_]:
    """Entries further apart than atol + rtol * |numerical|."""
    ours, true = array(pair.analytical), array(pair.numerical)
    with np.errstate(invalid="ignore"):
        return np.asarray(~((np.abs(ours - true) <= spec.atol + spec.rtol * np.abs(true)) | (ours == true)))


def jacobian_maps(
    spec: CustomFunctionSpec, found: CheckedFunction, pair: JacobianPair, theme: Theme = "light"
) -> tuple[go.Figure, go.Figure, go.Figure]:
    """Analytical, numerical, and the magnitude of their difference; entries outside of the tolerance are framed."""
    rows, columns = names_of(spec, found, pair)
    ours, true = array(pair.analytical), array(pair.numerical)
    marked = [(int(row), int(column)) for row, column in np.argwhere(outside(spec, pair))]
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - true)
    return (
        heat_map(ours, theme, title="analytical: backward", rows=rows, columns=columns, marked=marked),
        heat_map(true, theme, title="numerical: differences", rows=rows, columns=columns, marked=marked),
        heat_map(apart, theme, title="|difference|", diverging=False, rows=rows, columns=columns, marked=marked),
    )


def worst_words(spec: CustomFunctionSpec, found: CheckedFunction, worst: Worst) -> str:
    """The worst entry named, with its numbers."""
    pair = next(one for one in found.check.pairs if (one.output, one.input) == (worst.output, worst.input))
    rows, columns = names_of(spec, found, pair)
    numbers = [format_significant(one) for one in (worst.analytical, worst.numerical, worst.difference)]
    beyond = "outside" if not worst.difference <= worst.tolerance else "inside"
    return (
        f"Worst entry: d {rows[worst.row]} / d {columns[worst.column]}, analytical {numbers[0]}, numerical "
        f"{numbers[1]}, {numbers[2]} apart: {beyond} of atol + rtol · |numerical| = {worst.tolerance:.3g}."
    )


def jacobian_rows(spec: CustomFunctionSpec, found: CheckedFunction) -> Iterator[tuple[str, str, float, float, bool]]:
    """(row, column, analytical, numerical, outside) of every entry of every pair."""
    for pair in found.check.pairs:
        rows, columns = names_of(spec, found, pair)
        ours, true, off = array(pair.analytical), array(pair.numerical), outside(spec, pair)
        for (row, column), value in np.ndenumerate(ours):
            yield rows[row], columns[column], float(value), float(true[row, column]), bool(off[row, column])
