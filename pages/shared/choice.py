"""One of a few, chosen in a row of segments and kept in the link."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st


def draw_choice(label: str, options: Sequence[str], key: str) -> str:
    """The chosen option, the first where the link names none; the label is for those who cannot see the row."""
    chosen = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        key=key,
        label_visibility="collapsed",
        bind="query-params",
        persist_state="session",
    )
    return str(chosen or options[0])
