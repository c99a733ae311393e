"""What takes long is measured when asked for: a button that remembers for which settings it was pressed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.runner.contract import Spec
from pages.shared.pin import encode_spec


def asked(key: str, spec: Spec[Any], label: str, words: str) -> bool:
    """Whether this very spec was asked for; else draws the button that asks."""
    wanted = encode_spec(spec)
    if st.session_state.get(key) == wanted:
        return True
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(label, icon=":material/timer:", key=f"{key}.button", on_click=_ask, args=(key, wanted))
        st.caption(words, width="stretch")
    return False


def _ask(key: str, wanted: str) -> None:
    st.session_state[key] = wanted
