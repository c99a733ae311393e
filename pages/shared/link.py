"""Link parameters that no widget owns."""

from __future__ import annotations

from typing import Any

import streamlit as st

OPENED = "opened"
"""Addresses of the open groups of a picture; absent means as many as fit."""


def link_text(value: Any) -> str | list[str]:
    """A widget's value as Streamlit writes it into the link."""
    if isinstance(value, list):
        return [str(entry) for entry in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def opened_groups() -> tuple[str, ...] | None:
    """Groups opened by hand, None when the picture opens what fits."""
    opened = st.query_params.get_all(OPENED)
    return tuple(opened) if opened else None


def open_groups(addresses: tuple[str, ...]) -> None:
    """Open just these groups; an empty address stands for none at all."""
    st.query_params[OPENED] = addresses or ("",)


def forget_opened_groups() -> None:
    """Open what fits again: addresses of one model mean nothing in another."""
    st.query_params.pop(OPENED, None)
