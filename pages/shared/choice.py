"""One of a few, chosen in a row of segments and kept in the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.shared.bound import bind, none_but

WAITING = "choices-waiting"
"""Key -> value that a question set and whose row has not been drawn since."""


def let_wait(values: Mapping[str, Any]) -> None:
    """A row drawn below a computation is not drawn while that runs, and the browser would send its old value again."""
    st.session_state[WAITING] = dict(values)


def _take_waiting(options: Sequence[str], key: str) -> None:
    value = st.session_state.get(WAITING, {}).pop(key, None)
    if value in options:
        st.session_state[key] = value


def draw_choice(label: str, options: Sequence[str], key: str) -> str:
    """The chosen option, the first where the link names none; the label is for those who cannot see the row."""
    _take_waiting(options, key)
    chosen = st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        label_visibility="collapsed",
        **bind(key, why=none_but(options)),
    )
    return str(chosen or options[0])
