"""Every page opens, on every model it shows, and survives a bad link, without an exception."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.models.spec import ModelSpec
from pages.shared.model_controls import ARCHITECTURES, TITLES, TOPICS
from pages.shared.navigation import discover_pages
from tests.app.pages_under_test import (
    EVERY_CONTROL_OF_MODELS,
    ON_EACH_MODEL,
    PAGE_FILES,
    errors,
    named,
    open_page,
    page_id,
    widgets,
)

every_page = pytest.mark.parametrize("path", PAGE_FILES, ids=page_id)
NONSENSE = ("1e999", "<img src=x onerror=alert(1)>", "", "-1", "nan", "null", "9" * 400)
EACH_MODEL = [
    pytest.param(path, tag, marks=() if path == EVERY_CONTROL_OF_MODELS else pytest.mark.slow)
    for path, tag in ON_EACH_MODEL
]


@cache
def opened(path: Path) -> AppTest:
    """The page as a visitor first sees it, for tests that only look at it."""
    return open_page(path)


def test_the_navigation_finds_every_page():
    assert [entry.path for entry in discover_pages()] == sorted(
        PAGE_FILES, key=lambda path: (path.parent.name != "start", path)
    )
    addresses = [entry.url_path for entry in discover_pages()]
    assert len(set(addresses)) == len(addresses)


def test_every_field_of_the_model_has_one_control():
    shown = [name for names in TOPICS.values() for name in names]
    assert sorted(shown) == sorted(set(ModelSpec.__struct_fields__) - {"architecture"})
    assert TITLES.keys() == ARCHITECTURES.keys()


@every_page
def test_a_page_opens(path):
    app = opened(path)
    assert errors(app) == []
    assert not app.progress
    assert [error.value for error in app.error] == []
    assert len(app.markdown) + len(app.metric) + len(app.dataframe) > 0


@every_page
def test_no_result_is_kept_in_the_session(path):
    app = opened(path)
    kept = {key: type(value).__module__ for key, value in app.session_state.to_dict().items()}
    assert {key: module for key, module in kept.items() if module.startswith(("pandas", "numpy", "torch"))} == {}
    assert {key: v for key, v in kept.items() if v.startswith("engine.") and v.endswith("spec")} == {}


@every_page
@pytest.mark.parametrize("turn", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4))])
def test_a_link_with_nonsense_falls_back(path, turn):
    """All kinds of nonsense in one link, each control another at every turn."""
    keys = [widget.key for widget in widgets(opened(path)).values() if widget.key]
    texts = {key: NONSENSE[(place + turn) % len(NONSENSE)] for place, key in enumerate(["pinned", *keys])}
    app = open_page(path, **texts)
    assert errors(app) == []


@pytest.mark.parametrize(("path", "tag"), EACH_MODEL, ids=named)
def test_every_model_opens_on_every_page_that_shows_models(path, tag):
    app = open_page(path, model=TITLES[tag])
    assert app.selectbox(key="model").value == tag
    assert errors(app) == []
    assert not app.progress
    assert [error.value for error in app.error] == []
