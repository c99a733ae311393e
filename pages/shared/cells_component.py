"""The canvas component for linked cells: hover links panels in the browser, a click selects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import streamlit as st

from engine.figures.cells_encoding import read_header

_FOLDER = Path(__file__).parent / "component"
_SCRIPTS = (
    "surface.js",
    "cells_scene.js",
    "cells_layout.js",
    "cells_paint.js",
    "cells_light.js",
    "cells_chrome.js",
    "cells_input.js",
    "cells_report.js",
    "cells.js",
)
"""One module, in the order of use; `surface.js` (tooltip, theme) is also the graph's; `cells.js` exports the entry."""


def _read(*names: str) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


_CELLS = st.components.v2.component(
    "torch_atlas_cells", html=_read("cells.html"), css=_read("cells.css"), js=_read(*_SCRIPTS)
)


class CellSelection(msgspec.Struct, frozen=True):
    """The cell the reader keeps lit: key of its panel and its number in it, None for nothing."""

    panel: str | None = None
    index: int | None = None


def show_cells(
    encoded: bytes, *, key: str, height: int = 520, on_select: Callable[[CellSelection], None] | None = None
) -> CellSelection:
    """Draw what `encode_cells` gave; give it the same (cached) bytes while nothing changed.

    Hovering, scrolling and zooming stay in the browser; a click reruns the fragment around this call, after
    `on_select`. A selection that the scene no longer has is nothing.
    """

    def selected() -> None:
        if on_select is not None:
            on_select(_selection(getattr(st.session_state.get(key), "selected", None), encoded))

    result = _CELLS(key=key, data=encoded, width="stretch", height=height, on_selected_change=selected)
    return _selection(result.selected, encoded)


def _selection(value: Any, encoded: bytes) -> CellSelection:
    if not isinstance(value, dict):
        return CellSelection()
    panel, index = value.get("panel"), value.get("index")
    cells = {found["key"]: found["cells"] for found in read_header(encoded)["panels"]}
    if not isinstance(panel, str) or not isinstance(index, int) or not 0 <= index < cells.get(panel, 0):
        return CellSelection()
    return CellSelection(panel, index)
