"""The section on the largest eigenvalue: how power iteration converges, and where it ends in the spectrum."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.higher_order_charts import convergence_chart, spectrum_chart
from engine.figures.higher_order_words import eigenvalue_words
from engine.higher_order.results import Curvature
from engine.higher_order.spec import CurvatureSpec
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
TABS = ("Every product", "How to read this")
HOW_TO_READ = (
    "Power iteration multiplies a vector with H and scales it to length 1, again and again: what is left points along "
    "the eigenvector whose eigenvalue has the largest magnitude, and v · Hv is that eigenvalue. H is never made; each "
    "step is one `autograd.grad` through the gradient's graph. Every step shrinks the vector's error by "
    "|second largest / largest|, the dotted line; the eigenvalue's error shrinks by its square, so it is right first. "
    "Where no eigenvalue is negative, 2 / the largest is the step at which gradient descent on this quadratic part "
    "starts to diverge; along a negative one it diverges with every step."
)


def draw_curvature(spec: CurvatureSpec, found: Curvature, before: tuple[CurvatureSpec, Curvature] | None) -> None:
    """Convergence, spectrum, numbers, and every step."""
    if found.error is not None:
        draw_said("PyTorch stopped the iteration", found.error)
    if words := eigenvalue_words(found, spec.dtype):
        st.markdown(words)
    left, right = st.columns(2, gap="medium")
    with left:
        st.plotly_chart(convergence_chart(found, shown_theme()), key="curvature.chart", config=CHART)
    with right:
        if found.exact:
            st.plotly_chart(spectrum_chart(found, shown_theme()), key="curvature.spectrum", config=CHART)
        else:
            st.info(found.not_exact, icon=":material/grid_off:")
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    tabs = st.tabs(TABS, key="curvature.details", on_change="rerun")
    for tab, show in zip(tabs, (_draw_steps, _draw_explanation), strict=True):
        if tab.open:
            with tab:
                show(found)


def step_rows(found: Curvature) -> pd.DataFrame:
    """One row per product."""
    return pd.DataFrame(
        {
            "product": list(range(1, len(found.iterations) + 1)),
            "eigenvalue": [one.eigenvalue for one in found.iterations],
            "residual": [one.residual for one in found.iterations],
        }
    )


def _draw_steps(found: Curvature) -> None:
    st.dataframe(step_rows(found), hide_index=True, width="stretch", height=260)


def _draw_explanation(found: Curvature) -> None:
    st.markdown(HOW_TO_READ)
