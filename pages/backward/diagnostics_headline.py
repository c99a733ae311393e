"""The sentence above the board: what went wrong first, with PyTorch's own words where it raised."""

from __future__ import annotations

import streamlit as st

from engine.diagnostics.results import Diagnosis
from engine.figures.diagnostics_words import headline
from pages.shared.pytorch_words import draw_said

ICONS = {"error": ":material/error:", "warning": ":material/warning:", "success": ":material/check_circle:"}
SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>()#+!|~$:"})


def plain(text: str) -> str:
    """`text` shown literally by st.markdown."""
    return text.translate(SPECIAL)


def draw_headline(diagnosis: Diagnosis) -> None:
    """One message; nothing of it is read as markup."""
    if diagnosis.injected:
        st.caption(f":material/edit: Put in on purpose: {plain(diagnosis.injected)}")
    if diagnosis.error is not None:
        draw_said(f"The {diagnosis.error_stage} stopped", diagnosis.error)
        return
    kind, words = headline(diagnosis)
    {"error": st.error, "warning": st.warning, "success": st.success}[kind](plain(words), icon=ICONS[kind])
