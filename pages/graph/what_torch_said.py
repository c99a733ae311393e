"""Errors and warnings PyTorch raised while it ran the model, and notes on the trace."""

from __future__ import annotations

import streamlit as st

from engine.graph.spec import Traced


def draw_error(traced: Traced) -> None:
    """The error PyTorch raised, in its own words."""
    if traced.error:
        st.error(f"PyTorch raised **{traced.error.type}** in {traced.error.stage}:", icon=":material/report:")
        st.code(traced.error.message, language=None, wrap_lines=True)


def draw_warnings(traced: Traced) -> None:
    """What PyTorch warned of, in its own words, and notes on the trace."""
    for warning in traced.warnings:
        st.warning("PyTorch warned:", icon=":material/warning:")
        st.code(warning, language=None, wrap_lines=True)
    for note in traced.graph.notes:
        st.caption(note)
