"""The grammar of typed entries, and what a matrix refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.sparse import entries
from engine.sparse.entries import MAXIMUM_ENTRIES, MAXIMUM_LINES, MAXIMUM_TEXT, Entry, entries_text, parse_entries
from engine.sparse.matrix import Matrix

some_entry = st.builds(
    Entry, st.integers(0, 63), st.integers(0, 63), st.integers(-9999, 9999).map(float) | st.sampled_from([0.5, -0.25])
)


def test_entries_are_read_in_order_with_blanks_commas_semicolons_and_remarks():
    text = "0, 2, 3\n\n 0 2 4.5 # the same place\n1,0,-5e-1; 7 8 0"
    assert parse_entries(text) == (Entry(0, 2, 3.0), Entry(0, 2, 4.5), Entry(1, 0, -0.5), Entry(7, 8, 0.0))
    assert parse_entries("") == parse_entries("# nothing") == ()


@given(st.lists(some_entry, max_size=20).map(tuple))
def test_what_is_written_is_read_back(written):
    assert parse_entries(entries_text(written)) == written


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1, 2",
        "1, 2, 3, 4",
        "1,, 2, 3",
        ", 1, 2, 3",
        "1, 2, 3,",
        "a, b, c",
        "0, 0, nan",
        "0, 0, inf",
        "0.5, 0, 1",
        "0x1, 0, 1",
        "__import__('os')",
        "🙂",
    ],
)
def test_what_is_no_entry_is_refused_with_its_number_and_how_to_write_it(text):
    with pytest.raises(ValueError, match="Entry 2") as refusal:
        parse_entries(f"0, 0, 1\n{text}")
    assert "received" in str(refusal.value)
    assert "Write it as" in str(refusal.value)


@pytest.mark.parametrize("text", ["64, 0, 1", "0, -1, 1", "0, 0, 1e5"])
def test_numbers_beyond_the_limits_are_refused(text):
    with pytest.raises(ValueError, match="must be between"):
        parse_entries(text)


def test_too_many_entries_are_refused():
    with pytest.raises(ValueError, match=f"at most {MAXIMUM_ENTRIES} entries; received {MAXIMUM_ENTRIES + 1}"):
        parse_entries("0, 0, 1\n" * (MAXIMUM_ENTRIES + 1))


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("0" + " " * MAXIMUM_TEXT + "x", f"{MAXIMUM_TEXT} characters long; received {MAXIMUM_TEXT + 2}"),
        ("," * (MAXIMUM_TEXT + 1), f"{MAXIMUM_TEXT} characters long; received {MAXIMUM_TEXT + 1}"),
        ("# remark\n" * (MAXIMUM_LINES + 1), f"{MAXIMUM_LINES} lines; received {MAXIMUM_LINES + 1}"),
        ("\n" * (MAXIMUM_LINES + 1), f"{MAXIMUM_LINES} lines; received {MAXIMUM_LINES + 1}"),
        (";".join(["0 0 1"] * (MAXIMUM_ENTRIES + 1)), f"{MAXIMUM_ENTRIES} entries; received {MAXIMUM_ENTRIES + 1}"),
    ],
    ids=lambda text: text[:8],
)
def test_text_beyond_a_limit_is_refused_with_the_limit_and_what_was_received(text, most):
    with pytest.raises(ValueError, match=f"at most {most}"):
        parse_entries(text)


def test_blanks_within_the_limit_are_blanks():
    blanks = " " * ((MAXIMUM_TEXT - 3) // 2)
    assert parse_entries(f"0{blanks}2{blanks}3") == (Entry(0, 2, 3.0),)
    with pytest.raises(ValueError, match="Entry 1 must be"):
        parse_entries(f"0{blanks}x{blanks}")


def test_no_grammar_repeats_without_a_bound():
    for grammar in (entries._INDEX, entries._VALUE):
        assert not {"*", "+"} & set(grammar.pattern.replace("[+-]", ""))


@pytest.mark.parametrize(
    ("dtype", "entry", "words"),
    [
        ("float32", Entry(2, 0, 1.0), "outside of a matrix of 2 x 3"),
        ("float32", Entry(0, 3, 1.0), "outside of a matrix of 2 x 3"),
        ("int64", Entry(0, 0, 0.5), "whole numbers only"),
        ("uint8", Entry(0, 0, -1.0), "holds 0 to 255"),
        ("int8", Entry(0, 0, 128.0), "holds -128 to 127"),
    ],
)
def test_an_entry_that_does_not_fit_its_matrix_is_refused_in_words(dtype, entry, words):
    with pytest.raises(ValueError, match=words):
        Matrix(pattern="typed entries", rows=2, columns=3, dtype=dtype, entries=(entry,))
