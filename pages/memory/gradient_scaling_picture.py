"""The picture of the gradient scaling page: what happened in words, then the timeline of the scale."""

from __future__ import annotations

import streamlit as st

from engine.figures.grad_scaler_timeline import timeline
from engine.figures.grad_scaler_words import headline
from engine.grad_scaler.results import Scaled
from engine.grad_scaler.spec import GradScalerSpec
from pages.shared.pytorch_words import draw_said, draw_warned
from pages.shared.theme import shown_theme

CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}


def draw_picture(spec: GradScalerSpec, found: Scaled) -> None:
    """PyTorch's error first where there is one; with no finished step the right way is drawn in its place."""
    run, beside = found.run, found.beside
    draw_warned(run.warnings)
    if run.error is not None:
        draw_said(f"PyTorch refuses `{run.error_call}` in step {run.error_step}", run.error)
    if run.steps:
        st.markdown(headline(found, spec.init_scale))
    elif beside is not None:
        st.caption(f"No step was finished. Below is {beside.name}: the same run without the mistake.")
        run, beside = beside, None
    if run.steps:
        st.plotly_chart(timeline(run, beside, shown_theme()), key="scaler.timeline", config=CHART)
