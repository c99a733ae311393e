"""One page with one component, for the browser tests: ?scene=name&height=pixels; run by streamlit, not by pytest."""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).parents[2]))


def page() -> None:
    from engine.figures.cells import encode_cells
    from pages.shared.cells_component import show_cells
    from tests.component.cells_scenes import SCENES

    @st.fragment
    def picture() -> None:
        encoded = encode_cells(SCENES[st.query_params.get("scene", "transposed")]())
        selection = show_cells(encoded, key="picture", height=int(st.query_params.get("height", "560")))
        st.text(f"selected {selection.panel} {selection.index}")

    picture()


st.set_page_config(layout="wide")
page()
