"""The end of a page before its last line."""

from __future__ import annotations

from typing import NoReturn

from streamlit.runtime.scriptrunner import StopException


def end_page() -> NoReturn:
    """Draw nothing further of the page; after `st.stop()` the frame around it could not draw anything either."""
    raise StopException
