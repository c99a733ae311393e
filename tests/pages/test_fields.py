"""Widgets made from a spec's fields, and the integers people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared.fields import ints_text, parse_ints


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4, 6", (4, 6)),
        ("(4, 6)", (4, 6)),
        ("torch.Size([2, -1])", (2, -1)),
        ("2x3x4", (2, 3, 4)),
        ("2 × 3", (2, 3)),
        (" 7 ", (7,)),
        ("(5,)", (5,)),
        ("", ()),
        ("()", ()),
    ],
)
def test_shapes_as_people_write_them(text, values):
    assert parse_ints(text, "shape") == values


@given(st.lists(st.integers(-(10**12) + 1, 10**12 - 1), max_size=6))
def test_what_is_shown_is_read_back(values):
    assert parse_ints(ints_text(tuple(values)), "shape") == tuple(values)


def test_a_text_of_any_length_is_answered_at_once():
    for text in ("9, " * 100_000, " " * 1_000_000, "(" * 1_000_000):
        with pytest.raises(ValueError, match="at most 200 characters; received"):
            parse_ints(text, "shape")


@pytest.mark.parametrize("text", ["4.5", "four", "1e9", "4, <b>", "9" * 13, "²", "4, --1", "None"])
def test_anything_else_is_refused_in_words(text):
    with pytest.raises(ValueError, match="shape takes whole numbers") as caught:
        parse_ints(text, "shape")
    assert "received" in str(caught.value)
    assert "Write it as" in str(caught.value)
