"""The canvas component: draws a scene, reports what was clicked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import streamlit as st

_FOLDER = Path(__file__).parent / "component"
_SCRIPTS = (
    "scene.js",
    "camera.js",
    "words.js",
    "paint.js",
    "chrome.js",
    "input.js",
    "sheet.js",
    "looking.js",
    "graph.js",
)
"""One module, in the order of use; `graph.js` exports the entry point."""


def _read(*names: str) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


_GRAPH = st.components.v2.component(
    "torch_atlas_graph", html=_read("graph.html"), css=_read("graph.css"), js=_read(*_SCRIPTS)
)


class GraphSelection(msgspec.Struct, frozen=True):
    """What the reader last clicked: address of a box or leaf (`Scene.members` has its nodes), None for nothing."""

    selected: str | None = None


def show_graph(
    scene: bytes, *, key: str, height: int = 640, on_toggle: Callable[[str], None] | None = None
) -> GraphSelection:
    """Draw an encoded scene. `on_toggle(address)` runs before the next rerun when a group is to be opened or closed.

    Panning, zooming, hovering and searching stay in the browser; a click reruns the fragment around this call.
    """

    def toggled() -> None:
        address = getattr(st.session_state.get(key), "toggled", None)
        if on_toggle is not None and isinstance(address, str):
            on_toggle(address)

    result = _GRAPH(
        key=key,
        data=scene,
        width="stretch",
        height=height,
        on_selected_change=lambda: None,
        on_toggled_change=toggled,
    )
    selected = result.selected
    return GraphSelection(selected if isinstance(selected, str) else None)
