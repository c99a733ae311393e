"""The chart of leaves: every value has a mark, zero, none and non-finite in places of their own."""

from __future__ import annotations

import math
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from engine.figures.leaf_chart import Series, chosen_leaf, leaf_chart, log_scale, power_text, state_of
from engine.figures.leaf_chart_svg import leaf_chart_svg

NAMES = ("a", "b", "<b>c</b>", "d", "e")
ONE = Series("one", "gradient", (1e-3, 0.0, None, math.nan, 250.0), ("", "", "frozen <i>", "", ""))
TWO = Series("two", 1, (1.0, 2.0, 3.0, math.inf, 0.0))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_value_of_every_series_has_one_mark(theme):
    figure = leaf_chart(NAMES, (ONE, TWO), theme, y_title="norm", selected=1, lines=((10.0, "limit"),))
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    numbers = [number for trace in marks for (number,) in trace.customdata]
    assert sorted(numbers) == sorted([*range(5)] * 2)
    assert {trace.name for trace in marks} == {"one", "two", "exactly 0", "none", "not finite"}
    assert [trace.name for trace in figure.data if trace.mode == "lines"] == ["limit"]
    assert "<i>" not in figure.to_json().replace("\\u003c", "<")
    assert "&lt;b&gt;c" in figure.layout.xaxis.ticktext[2]


def test_places_are_logarithms_and_states_lie_outside():
    scale = log_scale((ONE, TWO))
    assert (scale.low, scale.high) == (-3, 3)
    assert scale.place(100.0) == 2
    assert scale.place(0.0) == scale.place(None) == scale.floor < scale.low
    assert scale.place(math.inf) == scale.place(math.nan) == scale.ceiling > scale.high
    assert [state_of(value) for value in (1.0, 0.0, None, math.nan, math.inf)] == ["", "zero", "none", "bad", "bad"]


@pytest.mark.parametrize("values", [(), (0.0,), (None,), (math.nan,), (1.0,), (1e-300, 1e300), (5e-324,)])
def test_any_values_are_drawn(values):
    names = [f"leaf {number}" for number in range(len(values))]
    series = (Series("s", 0, values),)
    leaf_chart(names, series, "light", y_title="y").to_json()
    ElementTree.fromstring(leaf_chart_svg(names, series, "dark", title="t", y_title="y"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_svg_has_the_same_marks_and_escapes(theme):
    text = leaf_chart_svg(NAMES, (ONE, TWO), theme, title="<script>", y_title="norm")
    root = ElementTree.fromstring(text)
    paths = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if "transform" in e.attrib]
    assert len(paths) == 2 * 5 + 2  # marks, and one per series in the legend
    assert "<script>" not in text
    assert "<b>" not in text


def test_a_click_chooses_the_leaf_it_is_on():
    def event(*points: dict[str, object]) -> SimpleNamespace:
        return SimpleNamespace(selection=SimpleNamespace(points=list(points)))

    assert chosen_leaf(event({"customdata": [3]}), 5) == 3
    assert chosen_leaf(event({}, {"customdata": 2}), 5) == 2
    assert chosen_leaf(event({"customdata": [7]}), 5) is None
    assert chosen_leaf(event(), 5) is None
    assert chosen_leaf(None, 5) is None


def test_powers_read_as_numbers_while_short():
    assert [power_text(exponent) for exponent in (-3, 0, 3, -7, 12)] == ["0.001", "1", "1000", "1e−07", "1e+12"]
