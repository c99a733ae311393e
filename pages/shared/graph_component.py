"""The canvas component: draws a scene, reports what was clicked."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import streamlit as st

from pages.shared.canvas_files import SCRIPTS as _SCRIPTS
from pages.shared.canvas_files import STYLES as _STYLES
from pages.shared.canvas_files import read as _read

_GRAPH = st.components.v2.component(
    "torch_atlas_graph", html=_read("graph.html"), css=_read(*_STYLES), js=_read(*_SCRIPTS)
)


class GraphSelection(msgspec.Struct, frozen=True):
    """What the reader last clicked: address of a box or leaf (`Scene.members` has its nodes), None for nothing."""

    selected: str | None = None


def show_graph(
    scene: bytes,
    *,
    key: str,
    height: int = 640,
    on_toggle: Callable[[str], None] | None = None,
    on_reveal: Callable[[str], None] | None = None,
    on_look: Callable[[str, str | int | None], None] | None = None,
) -> GraphSelection:
    """Draw an encoded scene. `on_toggle(address)` runs before the next rerun when a group is to be opened or closed.

    `on_reveal(address)` likewise, when the groups around a node are to be opened (`engine.figures.reveal`). Panning,
    zooming, hovering, searching and paths stay in the browser; a click reruns the fragment around this call.
    `on_look(what, value)` hears what the reader turned to last: ("selected", address or None), and of a picture that
    plays a backward pass ("step", number) or ("wire", addresses of its two boxes, one a line).
    The scene's own `selected` is what the canvas selects and centres at first; it does not come back as a selection.
    """

    def asked(name: str, answer: Callable[[str], None] | None) -> None:
        address = getattr(st.session_state.get(key), name, None)
        if answer is not None and isinstance(address, str):
            answer(address)

    def looked(name: str) -> None:
        value = getattr(st.session_state.get(key), name, None)
        if on_look is not None and (value is None or isinstance(value, str | int)):
            on_look(name, value)

    result = _GRAPH(
        key=key,
        data=scene,
        width="stretch",
        height=height,
        on_selected_change=lambda: looked("selected"),
        on_step_change=lambda: looked("step"),
        on_wire_change=lambda: looked("wire"),
        on_toggled_change=lambda: asked("toggled", on_toggle),
        on_revealed_change=lambda: asked("revealed", on_reveal),
    )
    selected = result.selected
    return GraphSelection(selected if isinstance(selected, str) else None)
