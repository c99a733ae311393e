"""The page without a browser: its sections, hostile text, and an A of one section on another."""

from __future__ import annotations

import pytest

from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, Operand
from engine.vectorisation.spec import LadderSpec
from pages.shared.pin import encode_spec
from tests.app.pages_under_test import PAGE_FILES, errors, open_page, run_to_the_end

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
