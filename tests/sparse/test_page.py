"""The sections of the sparse page open from a link, from every question, and say what is wrong in words."""

from __future__ import annotations

import pytest

from pages.tensors.sparse_layouts_controls import SECTIONS
from pages.tensors.sparse_layouts_presets import PRESETS
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page

PAGE = PAGES_FOLDER / "tensors" / "03_sparse_layouts.py"


def numbers(app):
    return {metric.label: metric.value for metric in app.metric}


def opened(**query):
    app = open_page(PAGE, **query)
    assert errors(app) == []
    return app


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_opens_from_a_link(section):
    app = opened(**{"sparse.section": section})
    assert app.button_group(key="sparse.section").value == section
    assert not app.progress
    assert [error.value for error in app.error] == []
    assert len(app.dataframe) + len(app.metric) > 0


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_opens_with_its_settings(preset):
    app = opened(**preset.link_values())
    assert [
        error.value for error in app.error if "The page and its other jobs are not affected" not in error.value
    ] == []
    for key, value in preset.settings.items():
        assert app.session_state[key] == value


@pytest.mark.slow
def test_the_answer_about_bytes_is_on_the_page():
    app = opened(**{"sparse.section": "Bytes"})
    assert numbers(app)["CSR wins to %"] == "33.1"
    assert any("**CSR** takes fewer bytes than dense up to a density of **33.1 %**" in m.value for m in app.markdown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"sparse.pattern": "typed entries", "sparse.entries": "0, 0"}, "Entry 1 must be a row"),
        ({"sparse.pattern": "typed entries", "sparse.rows": "1"}, "outside of a matrix of 1 x 12"),
        ({"sparse.section": "Embedding gradients", "sparse.embedding.indices": "9"}, "whole numbers from 0 to 4"),
    ],
)
def test_settings_that_do_not_fit_are_explained(query, words):
    app = opened(**query)
    assert any(words in text.value for text in app.text)


@pytest.mark.slow
def test_a_refused_layout_is_shown_in_pytorchs_words():
    app = opened(**{"sparse.layout": "BSR", "sparse.rows": "7"})
    assert any("must be divisible by given blocksize" in code.value for code in app.code)
