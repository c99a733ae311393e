"""A picture of memory as a component: hover tells, a click chooses a block or an event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent
_PICTURE = st.components.v2.component(
    "torch_atlas_memory",
    html='<div class="atlas-memory" data-atlas-memory></div>\n',
    css=(_FOLDER / "memory_ledger_picture.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "memory_ledger_picture.js").read_text(encoding="utf-8"),
)


def show_picture(
    svg: str, *, key: str, label: str, name: str = "memory", on_choose: Callable[[str, int], None] | None = None
) -> None:
    """Draw an SVG as wide as the page; `on_choose("block" or "event", number)` runs before the next rerun.

    `name` is the file's when it is saved as PNG.
    """

    def clicked() -> None:
        chosen = getattr(st.session_state.get(key), "chosen", None)
        if on_choose is None or not isinstance(chosen, dict):
            return
        kind, number = chosen.get("kind"), chosen.get("number")
        if isinstance(kind, str) and isinstance(number, int) and number >= 0:
            on_choose(kind, number)

    _PICTURE(key=key, data={"svg": svg, "label": label, "name": name}, width="stretch", on_chosen_change=clicked)
