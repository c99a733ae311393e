"""What PyTorch refused, under a title, in its own words."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.pytorch_said import PyTorchSaid


def draw_said(title: str, error: PyTorchSaid) -> None:
    """The title as an error, then type and text as PyTorch gave them."""
    st.error(title, icon=":material/block:")
    st.code(f"{error.type}: {error.message}", language=None, wrap_lines=True)


def draw_warned(texts: Sequence[str]) -> None:
    """Each warning of a run as PyTorch gave it."""
    for text in texts:
        st.warning("PyTorch warns:", icon=":material/warning:")
        st.code(text, language=None, wrap_lines=True)
