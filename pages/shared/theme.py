"""The theme a reader sees, for pictures that bring their own colours."""

from __future__ import annotations

import streamlit as st

from engine.figures.palette import Theme


def shown_theme() -> Theme:
    """Light until the browser has said otherwise."""
    return "dark" if st.context.theme.type == "dark" else "light"
