"""The page without a browser: its sections, hostile text, and an A of one section on another."""

from __future__ import annotations

import pytest

from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, Operand
from engine.vectorisation.spec import LadderSpec
from pages.shared.pin import encode_spec
from tests.app.pages_under_test import PAGE_FILES, errors, extremes, open_page, run_to_the_end, widgets

PAGE = next(path for path in PAGE_FILES if path.stem == "04_broadcasting")
HOSTILE = (
    "",
    "no such thing",
    "<script>alert(1)</script>",
    "(",
    "🙂" * 90,
    "9" * 400,
    "-1",
    "1e9",
    "\\'\";\x00",
    "i=",
    "...",
)


def numbers(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_each_section_computes_only_itself():
    assert "Elements" in numbers(open_page(PAGE))
    assert "Loop FLOPs" in numbers(open_page(PAGE, **{"broadcast.section": "einsum"}))


@pytest.mark.parametrize(
    ("key", "section"),
    [("broadcast.a", "Broadcast"), ("einsum.equation", "einsum"), ("einsum.sizes", "einsum")],
)
def test_hostile_text_is_answered_in_words(key, section):
    app = open_page(PAGE, **{"broadcast.section": section})
    for text in HOSTILE:
        app.text_input(key=key).set_value(text)
        run_to_the_end(app)
        assert errors(app) == [], text
        assert app.error or app.metric, text


def test_a_conflict_names_the_dimension_and_offers_what_fits():
    app = open_page(PAGE, **{"broadcast.a": "2, 3, 4, 4", "broadcast.b": "3"})
    assert any("non-singleton dimension 3" in code.value for code in app.code)
    assert any("b[:, None, None]" in text.value for text in app.markdown)
    app.button(key="broadcast.use.0").click()
    run_to_the_end(app)
    assert app.text_input(key="broadcast.b").value == "3, 1, 1"
    assert numbers(app)["Elements"] == "96"


def test_a_pinned_run_of_the_same_section_is_compared_with():
    pinned = encode_spec(BroadcastSpec(operands=(Operand((2, 1, 5)), Operand((3, 1)))))
    deltas = {metric.label: metric.delta for metric in open_page(PAGE, pinned=pinned).metric}
    assert deltas["Elements"] == "−6"


@pytest.mark.parametrize("spec", [EinsumSpec(), LadderSpec()], ids=["einsum", "ladder"])
def test_a_pinned_run_of_another_section_is_not(spec):
    app = open_page(PAGE, pinned=encode_spec(spec))
    assert errors(app) == []
    assert {metric.delta for metric in app.metric} <= {"", None}


def test_a_pinned_einsum_is_compared_with():
    app = open_page(PAGE, pinned=encode_spec(EinsumSpec()), **{"broadcast.section": "einsum"})
    assert all(metric.delta for metric in app.metric)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", ["einsum", "Loop to vector"])
def test_every_control_of_a_section_at_its_extremes(section):
    """The first section is what the test over all pages opens."""
    link = {"broadcast.section": section, "ladder.rows": "50", "ladder.columns": "20", "ladder.rounds": "5"}
    app = open_page(PAGE, **link)
    for key in [key for key in widgets(app) if key.startswith(("einsum.", "ladder."))]:
        start = widgets(app)[key].value
        for value in list(extremes(widgets(app)[key])):
            widgets(app)[key].set_value(value)
            run_to_the_end(app)
            assert errors(app) == [], f"{key}={value!r}"
            assert not app.progress, f"{key}={value!r}"
        widgets(app)[key].set_value(start)
        run_to_the_end(app)
