"""What PyTorch refused while it was profiled."""

from __future__ import annotations

import streamlit as st

from engine.graph.spec import PyTorchError
from engine.profiler.spec import ProfileSpec
from engine.pytorch_said import PyTorchSaid
from pages.shared.pytorch_words import draw_said


def draw_error(error: PyTorchError | None) -> None:
    """The error with where it came up; the profile holds what ran until then."""
    if error is not None:
        draw_said(f"PyTorch raised an error in {error.stage}", PyTorchSaid(type=error.type, message=error.message))


def draw_what_applies(spec: ProfileSpec) -> None:
    """What the settings change about the page: controls without effect, rows that mean something else."""
    if spec.program != "the model":
        st.caption(
            f"The lines of {spec.program} are profiled, with a tensor of their own: the model in the sidebar and "
            f"*what runs* do not apply. *Profiler* has the program.",
            help="`x = torch.randn(256, 256, requires_grad=True)`, then "
            "`G = (x @ x).relu().sum(); G.backward(retain_graph=True); del G`",
        )
    if spec.with_stack:
        st.caption(
            "With stacks every Python call is a row too: what no operation allocated or freed stands in the row of "
            "the Python call around it instead of in `[memory]`."
        )
