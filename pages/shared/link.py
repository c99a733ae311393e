"""Link parameters that no widget owns."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.bound import read_parameter

OPENED = "opened"
"""Addresses of the open groups of a picture; absent means as many as fit."""
INSIDE = "inside"
NODE = "node"
"""Stable address of the selected node, so that whoever gets the link sees the same one."""
_SELECTED, _ARRIVED, _CLICKED = "node.selected", "node.arrived", "node.clicked"
_TOLD = "node.told"


def link_text(value: Any) -> str | list[str]:
    """A widget's value as Streamlit writes it into the link."""
    if isinstance(value, list):
        return [str(entry) for entry in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def opened_groups() -> tuple[str, ...] | None:
    """Groups opened by hand, None when the picture opens what fits."""
    read_parameter(OPENED)
    opened = st.query_params.get_all(OPENED)
    return tuple(opened) if opened else None


def open_groups(addresses: tuple[str, ...]) -> None:
    """Open just these groups; an empty address stands for none at all."""
    st.query_params[OPENED] = addresses or ("",)


def forget_opened_groups() -> None:
    """Open what fits again, in the whole graph: addresses of one model mean nothing in another."""
    st.query_params.pop(OPENED, None)
    st.query_params.pop(INSIDE, None)


def forget_model() -> None:
    """Another model: neither its groups nor its nodes are those of the link."""
    forget_opened_groups()
    select_node("")


def inside_group() -> str:
    """Address of the group whose inside alone is drawn, "" for the whole graph."""
    return read_parameter(INSIDE)


def look_inside(address: str) -> None:
    """Draw only the inside of that group, or everything for ""."""
    if address:
        st.query_params[INSIDE] = address
    else:
        st.query_params.pop(INSIDE, None)


def select_node(address: str) -> None:
    """Put the selected node into the link, or none for ""."""
    st.session_state[_SELECTED] = address
    if address:
        st.query_params[NODE] = address
    else:
        st.query_params.pop(NODE, None)


def go_to_node(address: str) -> None:
    """Select a node and have the picture show it, as if a link had asked for it."""
    select_node(address)
    st.session_state[_ARRIVED] = address


def selected_node() -> str:
    """The node selected on this page, as the link has it."""
    return str(st.session_state.get(_SELECTED, ""))


def note_click(address: str) -> None:
    """What the picture says was clicked last; only when that is another box than before it becomes the selection."""
    if address != st.session_state.get(_CLICKED, ""):
        st.session_state[_CLICKED] = address
        if address != selected_node():
            select_node(address)


def tell_of_node(address: str, words: str) -> None:
    """Words to show as long as that node stays selected, in the whole graph."""
    st.session_state[_TOLD] = (address, words)


def told_of_node() -> str:
    """What there is to tell about how the selected node came into the picture."""
    address, words = st.session_state.get(_TOLD, ("", ""))
    return str(words) if address and address == selected_node() and not inside_group() else ""


def arriving_node() -> tuple[str, bool]:
    """The node that an opened link asks for, and whether this is the first run that sees it."""
    linked = read_parameter(NODE)
    is_new = linked != selected_node()
    if is_new:  # the page itself notes what it selects
        st.session_state[_SELECTED] = st.session_state[_ARRIVED] = linked
    return str(st.session_state.get(_ARRIVED, "")), is_new and bool(linked)
