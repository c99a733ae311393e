"""The cells component as Python sees it; what happens in a browser is in test_cells_in_the_browser.py."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from engine.figures.cells import encode_cells
    from pages.shared.cells_component import show_cells
    from tests.component.cells_scenes import SCENES

    def told(selection):
        st.session_state["told"] = f"{selection.panel} {selection.index}"

    selection = show_cells(encode_cells(SCENES["transposed"]()), key="picture", height=300, on_select=told)
    st.text(f"selected {selection.panel} {selection.index}")


def test_it_draws_once_and_nothing_is_selected():
    at = AppTest.from_function(page, default_timeout=100).run()
    assert not at.exception
    assert len(at.get("bidi_component")) == 1
    assert at.text[0].value == "selected None None"


def test_a_click_in_the_browser_is_the_selection():
    at = AppTest.from_function(page, default_timeout=100)
    at.session_state["picture"] = {"selected": {"panel": "t", "index": 23}}
    assert at.run().text[0].value == "selected t 23"


@pytest.mark.parametrize(
    "value",
    [
        7,
        "t",
        {"panel": "t"},
        {"panel": "t", "index": 24},
        {"panel": "gone", "index": 0},
        {"panel": ["t"], "index": "0"},
    ],
)
def test_a_selection_the_scene_does_not_have_is_nothing(value):
    at = AppTest.from_function(page, default_timeout=100)
    at.session_state["picture"] = {"selected": value}
    assert at.run().text[0].value == "selected None None"
