"""The canvas component as Python sees it; what happens in a browser is tested in tests/browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

FOLDER = Path(__file__).parents[2] / "pages" / "shared" / "component"
SCRIPTS = sorted(FOLDER.glob("*.js"))


def page():
    import streamlit as st

    from engine.figures.scene import build_scene, encode_scene
    from pages.shared.graph_component import show_graph
    from tests.figures.graphs import linear_relu

    selection = show_graph(
        encode_scene(build_scene(linear_relu())),
        key="picture",
        on_toggle=lambda address: st.session_state.update(opened=address),
    )
    st.text(f"selected {selection.selected} opened {st.session_state.get('opened')}")


def test_it_draws_once_and_nothing_is_selected():
    at = AppTest.from_function(page, default_timeout=100).run()
    assert not at.exception
    assert len(at.get("bidi_component")) == 1
    assert at.text[0].value == "selected None opened None"


def test_a_click_in_the_browser_is_the_selection():
    at = AppTest.from_function(page, default_timeout=100)
    at.session_state["picture"] = {"selected": "lin/AddmmBackward0#0"}
    assert at.run().text[0].value == "selected lin/AddmmBackward0#0 opened None"


@pytest.mark.parametrize("value", [7, ["a"], {"b": 1}])
def test_a_selection_that_is_no_text_is_nothing(value):
    at = AppTest.from_function(page, default_timeout=100)
    at.session_state["picture"] = {"selected": value}
    assert at.run().text[0].value == "selected None opened None"


@pytest.mark.parametrize("path", [*SCRIPTS, *FOLDER.glob("*.html"), *FOLDER.glob("*.css")], ids=lambda path: path.name)
def test_assets_are_self_contained_and_never_write_markup(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    addresses = set(re.findall(r"https?://[^\s\"')]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text


def test_every_script_is_loaded():
    from pages.shared import canvas_files, cells_component, graph_component

    assert {path.name for path in SCRIPTS} == {
        *graph_component._SCRIPTS,
        *canvas_files.STANDALONE,
        *cells_component._SCRIPTS,
    }


def test_the_page_offers_stable_hooks():
    text = (FOLDER / "graph.html").read_text(encoding="utf-8") + "".join(s.read_text(encoding="utf-8") for s in SCRIPTS)
    for hook in ("data-atlas-graph", "data-atlas-canvas", "data-atlas-search", "data-atlas-action", "atlasPlaces"):
        assert hook in text
