"""Every page opens, takes every control to its extremes, and survives a bad link, without an exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.spec import ModelSpec
from pages.shared.model_controls import ARCHITECTURES, TITLES, TOPICS
from pages.shared.navigation import discover_pages
from tests.app.pages_under_test import PAGE_FILES, errors, extremes, open_page, page_id, run_to_the_end, widgets

every_page = pytest.mark.parametrize("path", PAGE_FILES, ids=page_id)
MODEL_PAGES = [entry.path for entry in discover_pages() if entry.has_model_controls]
ON_EACH_MODEL = [(path, tag) for path in MODEL_PAGES for tag in sorted(ARCHITECTURES)]
OWN_CONTROLS = [(path, "") for path in PAGE_FILES if path not in MODEL_PAGES]
GARBAGE = ("", "-1", "1e999", "nan", "<img src=x onerror=alert(1)>", "null", "9" * 400)


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
    app = open_page(path)
    assert errors(app) == []
    assert not app.progress
    assert [error.value for error in app.error] == []
    assert len(app.markdown) + len(app.metric) + len(app.dataframe) > 0


@every_page
def test_no_result_is_kept_in_the_session(path):
    app = open_page(path)
    kept = {key: type(value).__module__ for key, value in app.session_state.to_dict().items()}
    assert {key: module for key, module in kept.items() if module.startswith(("pandas", "numpy", "torch"))} == {}
    assert {key: v for key, v in kept.items() if v.startswith("engine.") and v.endswith("spec")} == {}


@every_page
@pytest.mark.parametrize("text", GARBAGE)
def test_a_link_with_nonsense_falls_back(path, text):
    keys = {widget.key for widget in widgets(open_page(path)).values() if widget.key}
    app = open_page(path, pinned=text, **dict.fromkeys(keys, text))
    assert errors(app) == []


def named(value):
    return page_id(value) if isinstance(value, Path) else value


@pytest.mark.parametrize(("path", "tag"), ON_EACH_MODEL, ids=named)
def test_every_model_opens_on_every_page_that_shows_models(path, tag):
    app = open_page(path, model=TITLES[tag])
    assert app.selectbox(key="model").value == tag
    assert errors(app) == []
    assert not app.progress
    assert [error.value for error in app.error] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("path", "tag"), [*ON_EACH_MODEL, *OWN_CONTROLS], ids=named)
def test_every_control_at_its_extremes(path, tag):
    """One control at a time; the ones every model shares are turned on one model only."""
    query = {"model": TITLES[tag]} if tag else {}
    shown = widgets(open_page(path, **query))
    turned = {key: list(extremes(one)) for key, one in shown.items() if tag in ("", "mlp") or key.startswith(f"{tag}.")}
    failed = []
    for key, values in turned.items():
        for value in values:
            app = open_page(path, **query)
            widgets(app)[key].set_value(value)
            run_to_the_end(app)
            failed += [f"{key}={value!r}: {message}" for message in errors(app)]
            if app.progress:
                failed.append(f"{key}={value!r}: still running")
    assert failed == []
