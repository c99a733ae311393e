"""The page: its sections, what is typed into it, and its charts."""

from __future__ import annotations

import pytest

from engine import run
from engine.figures.arrays import array
from engine.figures.higher_order_charts import convergence_chart, derivative_chart, node_chart, spectrum_chart
from engine.figures.lines_svg import Line, lines_svg
from engine.figures.matrix_svg import matrix_svg
from engine.figures.palette import Theme
from engine.figures.reveal import toggled
from engine.figures.units import MINUS
from engine.figures.view import GraphView
from engine.higher_order.spec import CurvatureSpec, DerivativeSpec, MatrixSpec
from pages.backward.higher_order_controls import KINDS, VISIBLE, parse_numbers
from pages.backward.higher_order_derivatives import order_rows, picture
from pages.backward.higher_order_matrices import matrix_figure
from tests.app.page_copies import turned
from tests.app.pages_under_test import PAGES_FOLDER, errors, extremes, open_page, widgets

PAGE = PAGES_FOLDER / "backward" / "04_higher_order.py"
THEMES: tuple[Theme, ...] = ("light", "dark")
COMPUTED = ("Jacobian, Hessian", "Largest eigenvalue", "The article's hvp", "What grad answers")
"""Sections besides the first, which every page's test turns, and the one that measures."""
HOSTILE = "<script>alert(1)</script>"


def test_no_section_shows_more_than_seven_controls():
    assert VISIBLE.keys() == set(KINDS.values())
    assert max(map(len, VISIBLE.values())) <= 7


@pytest.mark.parametrize("text", ["", " ", "1, 2.5, -3e2", "[1 2 3]", "(0.5; 1)"])
def test_numbers_are_read_as_people_write_them(text):
    assert parse_numbers(text) in ((), (1.0, 2.5, -300.0), (1.0, 2.0, 3.0), (0.5, 1.0))


@pytest.mark.parametrize("text", ["one", "1, nan", "inf", "1e999", HOSTILE, "1" * 900])
def test_what_is_no_number_is_refused_in_words(text):
    with pytest.raises(ValueError, match=r"received.*Write it as"):
        parse_numbers(text)


@pytest.mark.parametrize("theme", THEMES)
def test_the_curves_show_autograd_and_the_second_method_apart(theme):
    found = run(DerivativeSpec(function="gelu(x)", order=3), inline=True)
    figure = derivative_chart(found, 2.0, theme)
    lines = [one for one in figure.data if one.mode is None]
    rings = [one for one in figure.data if one.mode == "markers" and "open" in str(one.marker.symbol)]
    assert (len(lines), len(rings)) == (4, 3)
    bars = node_chart(found, theme).data[0]
    assert list(bars.y) == [one.nodes for one in found.orders]


def test_a_kink_leaves_a_gap_and_not_a_value_in_files():
    found = run(DerivativeSpec(function="abs(x)", x=0.0, order=2), inline=True)
    assert order_rows(found, "float64")["by hand"].tolist()[1] == "no derivative"
    assert derivative_chart(found, 0.0, "light").data


@pytest.mark.parametrize("theme", THEMES)
def test_a_pole_does_not_flatten_the_curves_and_the_axis_says_what_it_leaves_out(theme):
    spec = DerivativeSpec(function="typed", expression="1 / x", order=4, x=1.0)
    found = run(spec, inline=True)
    assert 0.0 in array(found.x)
    figure = derivative_chart(found, spec.x, theme)
    low, high = figure.layout.yaxis.range
    assert low < -24 < 24 < high < 1e6
    assert "clipped" in figure.layout.yaxis.title.text
    whole = derivative_chart(run(DerivativeSpec(function="x**4"), inline=True), 2.0, theme)
    assert whole.layout.yaxis.range is None


def test_the_files_leave_out_what_the_axis_leaves_out():
    svg = lines_svg([Line("f", [0, 1, 2], [1.0, 3e33, 2.0])], title="t", x_title="x", limits=(0.0, 4.0))
    assert "e33" not in svg
    assert svg.split('fill="none"')[0].count("M") >= 2


def test_a_hessian_is_printed_with_three_digits_and_its_scale_without_exponents():
    spec = MatrixSpec()
    found = run(spec, inline=True)
    figure = matrix_figure(spec, found, False, "light")
    written = {text for layer in figure.data if layer.text is not None for row in layer.text for text in row}
    assert any(len(text.replace(MINUS, "").replace(".", "")) >= 3 for text in written)
    ticks = next(layer.colorbar.ticktext for layer in figure.data if layer.showscale)
    assert not any("e" in tick for tick in ticks)
    assert {float(tick.replace(MINUS, "-")) for tick in ticks} >= {0.0}


@pytest.mark.parametrize("order", range(3))
def test_the_graph_of_every_order_is_drawn_whole(order):
    spec = DerivativeSpec(function="exp(-x**2)", order=2)
    scene, encoded = picture(spec, order)
    assert scene.nodes_total == run(spec, inline=True).orders[order].nodes
    assert scene.nodes_shown == scene.nodes_total
    assert encoded


def test_a_large_graph_is_folded_and_its_groups_can_be_opened():
    spec = DerivativeSpec(function="typed", expression="*".join(["sin(x)"] * 12), order=3)
    scene, _ = picture(spec, 3)
    groups = [box.address for box in scene.boxes if box.role == "group"]
    assert groups
    assert scene.nodes_total > 200
    opened, _ = picture(spec, 3, toggled(GraphView(expanded=None, maximum_boxes=200), scene, groups[0]).expanded)
    assert len(opened.boxes) > len(scene.boxes)


@pytest.mark.parametrize("theme", THEMES)
def test_power_iteration_is_drawn_with_its_spectrum(theme):
    found = run(CurvatureSpec(n=30, steps=20), inline=True)
    assert len(convergence_chart(found, theme).data) == 3
    marks = spectrum_chart(found, theme).data[0].marker.symbol
    assert marks.count("star") == 1
    flat = run(CurvatureSpec(function="ReLU layer", n=10), inline=True)
    assert convergence_chart(flat, theme).data
    assert spectrum_chart(flat, theme).data


@pytest.mark.parametrize("theme", THEMES)
def test_text_in_pictures_is_escaped_and_values_that_are_not_finite_leave_gaps(theme):
    svg = lines_svg(
        [Line(HOSTILE, [1, 2, 3, 4], [1.0, float("nan"), -1.0, 10.0])], theme, title=HOSTILE, x_title="x", log_y=True
    )
    assert "<script" not in svg
    assert svg.count("M") >= 2
    assert "nan" not in svg.split("</text>")[-1]
    found = run(MatrixSpec(function="typed", expression="sum(x) * x", matrix="Jacobian", n=3), inline=True)
    assert "<script" not in matrix_svg(array(found.matrix), theme, title=HOSTILE)
    assert matrix_figure(MatrixSpec(function="typed"), found, True, theme).data


@pytest.mark.parametrize("text", [HOSTILE, "x[0]"])
def test_whatever_is_typed_is_answered_on_the_page(text):
    app = open_page(PAGE, **{"higher.function": "typed", "higher.expression": text or " "})
    assert errors(app) == []
    assert len(app.error) + len(app.metric) > 0


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("section", COMPUTED)
def test_every_control_of_every_section_at_its_ends(section):
    opened = open_page(PAGE, **{"higher.section": section})
    assert errors(opened) == []
    for key, widget in widgets(opened).items():
        if key in ("higher.section", "question", "present"):
            continue
        for value in list(extremes(widget))[::3]:
            assert errors(turned(opened, widget, value)) == [], (key, value)
