"""Errors and warnings PyTorch raised while it ran the model, and notes on the trace."""

from __future__ import annotations

import streamlit as st

from engine.graph.spec import Traced


def draw_messages(traced: Traced) -> None:
    """PyTorch's own words, unchanged."""
    if traced.error:
        st.error(f"PyTorch raised **{traced.error.type}** in {traced.error.stage}", icon=":material/report:")
        st.code(traced.error.message, language=None, wrap_lines=True)
    for warning in traced.warnings:
        st.warning("PyTorch warned", icon=":material/warning:")
        st.code(warning, language=None, wrap_lines=True)
    for note in traced.graph.notes:
        st.caption(note)
