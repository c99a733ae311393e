"""Differences to pinned A are worded with sign, unit and share."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.key_numbers import KeyNumber, difference, number_text


@pytest.mark.parametrize(
    ("value", "before", "unit", "expected"),
    [
        (12, 12, "count", "= A"),
        (15, 12, "count", "+3"),
        (9, 12, "count", "−3"),
        (3072, 2048, "bytes", "+1.00 KiB"),
        (5, 0, "count", "+5"),
        (2.5e-6, 1e-6, "s", "+1.50 µs"),
        (0.5, 0.75, "s", "−250 ms"),
        (0.5, 1.0, "", "−0.500"),
        (-1.0, -2.0, "", "+1.00"),
        (float("nan"), 2.0, "", "A: 2.00"),
        (None, 2.0, "", "not in both"),
        (2.0, None, "", "not in both"),
    ],
)
def test_difference(value: float | None, before: float | None, unit: str, expected: str) -> None:
    assert difference(KeyNumber("x", value, unit, "nowhere"), before) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (999.9028930664062, "999.90"),
        (65504.0, "65\u202f504"),
        (2.0**24, "1.68e+07"),
        (2**-24, "5.96e−08"),
        (32.0, "32"),
    ],
)
def test_a_total_fits_into_its_box(value: float, expected: str) -> None:
    assert number_text(KeyNumber("x", value, "exact", "nowhere")) == expected
    assert len(expected) <= 8


def missing(word: str | None) -> None:
    from pages.shared.key_numbers import KeyNumber, draw_key_numbers

    numbers = [KeyNumber("x", None, "", "nowhere", word) if word else KeyNumber("x", None, "", "nowhere")]
    draw_key_numbers(numbers, None)


@pytest.mark.parametrize(("word", "shown"), [("no cells", "no cells"), (None, "not run")])
def test_a_number_that_is_not_there_says_why(word: str | None, shown: str) -> None:
    app = AppTest.from_function(missing, default_timeout=100, args=(word,)).run()
    assert [metric.value for metric in app.metric] == [shown]
