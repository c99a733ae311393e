"""The sections of the sparse page open from a link, from every question, and say what is wrong in words."""

from __future__ import annotations

import pytest

from engine import run
from engine.sparse.results import BreakEven
from engine.sparse.spec import InvariantsSpec, MatmulTimingSpec, SupportSpec
from pages.shared.pin import encode_spec
from pages.tensors.sparse_layouts_controls import SECTIONS
from pages.tensors.sparse_layouts_measured import bytes_words
from pages.tensors.sparse_layouts_operations import support_numbers
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


@pytest.mark.slow
@pytest.mark.parametrize("query", [{"sparse.rows": "0"}, {"sparse.columns": "0"}, {"sparse.rows": "7"}])
def test_a_number_that_cannot_be_there_is_not_called_not_run(query):
    app = opened(**({"sparse.layout": "BSR"} | query))
    shown = numbers(app)
    assert "not run" not in shown.values()
    assert shown["Against dense"] == ("refused" if query == {"sparse.rows": "7"} else "no cells")


@pytest.mark.slow
def test_the_smallest_layout_is_named():
    # 13 entries of float32: COO 13 * 20 bytes, CSR 9 * 8 + 13 * 12
    assert numbers(opened())["Smallest: CSR"] == "228 B"


def test_the_bytes_of_a_timed_layout_stand_beside_its_time():
    spec = MatmulTimingSpec(size=256)
    # dense 256 * 256 * 4 bytes; CSR 257 pointers of 8, then 12 an entry: 21673 of 65536 cells
    both = bytes_words(spec, BreakEven("csr", "crosses", 0.2, (0.1, 0.3)))
    assert both == "It takes fewer bytes below **33.1 %** (by formula), less time below 20 % (estimated)."
    assert bytes_words(spec, BreakEven("coo", "always slower")) == "It takes fewer bytes below **20 %** (by formula)."
    assert "depends on where entries lie" in bytes_words(spec, BreakEven("bsr", "unclear"))


def test_operations_that_work_are_counted_per_layout():
    found = run(SupportSpec(), inline=True)
    for number, support in zip(support_numbers(found), found.supports, strict=True):
        assert number.label == f"{support.layout.upper()} works"
        assert number.value == len([probe for probe in support.probes if probe.error is None])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("section", "pinned"), [("Invariants", InvariantsSpec()), ("Operations", SupportSpec(dtype="bool"))]
)
def test_a_section_compares_with_its_own_pin(section, pinned):
    app = opened(**{"sparse.section": section, "pinned": encode_spec(pinned)})
    assert app.metric
    assert all(metric.delta for metric in app.metric)
