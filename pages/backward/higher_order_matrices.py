"""The section on Jacobian and Hessian: the heat map, every way to compute it, and its eigenvalues."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from engine.figures.arrays import array
from engine.figures.heat_map import heat_map
from engine.figures.palette import Theme
from engine.figures.units import format_significant
from engine.higher_order.results import Matrix
from engine.higher_order.spec import MatrixSpec
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.fields import common_arguments
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

PATTERN = "matrix.pattern"
CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
TABS = ("Every way", "Eigenvalues", "Is it right?", "How to read this")
HOW_TO_READ = (
    "Row i, column j of a Jacobian is the derivative of output i by x[j]; the Hessian is the Jacobian of the gradient, "
    "and symmetric. Grey cells are exactly 0. A Hessian costs n backward passes and n * n numbers; `vectorize=True`, "
    "`jacrev` and `is_grads_batched=True` run those passes as one batch, `jacfwd` pushes tangents forward instead. "
    "The Hessian of a network's loss has a block for every pair of parameters."
)


def draw_matrix(spec: MatrixSpec, found: Matrix, before: tuple[MatrixSpec, Matrix] | None) -> None:
    """The matrix, its numbers, and how it was checked."""
    if found.matrix is None:
        if found.error is not None:
            draw_said(f"PyTorch could not compute this {spec.matrix}", found.error)
        return
    pattern = st.toggle("Only where it is not 0", **common_arguments(PATTERN, "The sparsity pattern"))
    st.plotly_chart(matrix_figure(spec, found, bool(pattern), shown_theme()), key="matrix.map", config=CHART)
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    tabs = st.tabs(TABS, key="matrix.details", on_change="rerun")
    for tab, show in zip(tabs, (_draw_ways, _draw_eigenvalues, _draw_checks, _draw_explanation), strict=True):
        if tab.open:
            with tab:
                show(found)


def matrix_figure(spec: MatrixSpec, found: Matrix, pattern: bool, theme: Theme) -> go.Figure:
    """The heat map of the values, or of where they are not 0."""
    assert found.matrix is not None
    values = array(found.matrix)
    columns = found.names or tuple(f"x[{place}]" for place in range(values.shape[1]))
    is_hessian = spec.matrix == "Hessian"
    rows = columns if is_hessian else tuple(f"f[{place}]" for place in range(values.shape[0]))
    title = f"{spec.matrix} of {spec.function if spec.function != 'typed' else spec.expression}"
    drawn = (values != 0).astype(np.float64) if pattern else values
    return heat_map(drawn, theme, title=title, diverging=not pattern, rows=rows, columns=columns, digits=3)


def way_rows(found: Matrix) -> pd.DataFrame:
    """One row per way: the call, its distance to the first, or what PyTorch said."""
    return pd.DataFrame(
        {
            "way": [one.name for one in found.ways],
            "largest difference to the first": [
                "" if one.max_abs_difference is None else format_significant(one.max_abs_difference)
                for one in found.ways
            ],
            "call": [one.code for one in found.ways],
            "PyTorch said": ["" if one.error is None else one.error.message for one in found.ways],
        }
    )


def _draw_ways(found: Matrix) -> None:
    st.dataframe(way_rows(found), hide_index=True, width="stretch")


def _draw_eigenvalues(found: Matrix) -> None:
    if not found.eigenvalues:
        st.caption("A Jacobian need not be square: eigenvalues are shown of Hessians with finite entries.")
        return
    low, high = found.eigenvalues[0], found.eigenvalues[-1]
    negative = sum(value < 0 for value in found.eigenvalues)
    st.markdown(
        f"From **{format_significant(low)}** to **{format_significant(high)}**; {negative} of "
        f"{len(found.eigenvalues)} negative: {_curved(found.eigenvalues)}."
    )
    st.dataframe(pd.DataFrame({"eigenvalue": found.eigenvalues}), width="stretch", height=240)


def _curved(eigenvalues: tuple[float, ...]) -> str:
    largest = max(map(abs, eigenvalues))
    signs = {value > 0 for value in eigenvalues if abs(value) > 1e-9 * largest}
    if not signs:
        return "flat to second order"
    return "curved up and down, as at a saddle" if len(signs) == 2 else f"curved {'up' if True in signs else 'down'}"


def _draw_checks(found: Matrix) -> None:
    if found.closed_form is not None:
        st.markdown(f"By hand, `{found.closed_form_text}`: off by **{format_significant(found.closed_form)}** at most.")
    if found.finite_difference is not None:
        off = format_significant(found.finite_difference)
        st.markdown(f"Central differences in float64 (estimated): off by **{off}** at most.")
    if found.closed_form is None and found.finite_difference is None:
        st.caption("No second method here: choose float64 for central differences.")


def _draw_explanation(found: Matrix) -> None:
    st.markdown(HOW_TO_READ)
