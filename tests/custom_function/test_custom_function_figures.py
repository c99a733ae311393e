"""Curves, Jacobian maps and the SVG: what is drawn is what was read."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.custom_function_curves import FLOOR, curves_chart, differing, gradcheck_points, range_of, runs_of
from engine.figures.custom_function_jacobians import element_names, jacobian_maps, jacobian_rows, worst_words
from engine.figures.custom_function_svg import curves_svg
from tests.custom_function.checking import at, checked


def drawn(spec, theme="light"):
    found = checked(spec)
    return curves_chart(spec, found, found.curves[0], theme)


def test_shading_covers_exactly_where_the_clip_acts():
    # beta s (1 - s) > 0.1 for beta = 2: s (1 - s) > 0.05, |x| < log((1 + r) / (1 - r)) / 2 with r = sqrt(1 - 0.2)
    spec = CustomFunctionSpec(samples=2001, rtol=0.0)
    r = np.sqrt(1 - 4 * 0.05)
    edge = np.log((1 + r) / (1 - r)) / 2
    (band,) = drawn(spec).layout.shapes
    step = 12 / 2000
    assert band.x0 == pytest.approx(-edge, abs=2 * step)
    assert band.x1 == pytest.approx(edge, abs=2 * step)


def test_nothing_is_shaded_where_backward_is_right():
    assert drawn(CustomFunctionSpec(clip=0.5)).layout.shapes == ()


def test_runs_of_true_are_found_at_the_ends_too():
    assert runs_of([True, False, True, True]) == [(0, 0), (2, 3)]
    assert runs_of([False, False]) == []
    assert runs_of([]) == []


def test_every_line_has_its_own_colour_and_dash_and_zero_is_on_the_log_axis():
    lines = [trace for trace in drawn(CustomFunctionSpec()).data if trace.mode == "lines"]
    above = lines[:5]
    assert len({trace.line.dash for trace in above}) == len({trace.line.color for trace in above}) == 5
    assert all(min(trace.y) >= FLOOR for trace in lines[5:])


def test_points_of_gradcheck_lie_on_the_curve_and_are_crossed_where_off():
    found, spec = at(0.0, -3.0), CustomFunctionSpec(inputs="own points", points=(0.0, -3.0))
    places = gradcheck_points(spec, found, found.curves[0])
    assert [(x, off) for x, _, off in places] == [(0.0, True), (-3.0, False)]
    assert places[0][1] == pytest.approx(0.1)
    assert gradcheck_points(spec, checked(CustomFunctionSpec(function="SinCos")), found.curves[0]) == []


def test_jacobian_maps_frame_what_is_off():
    spec = CustomFunctionSpec()
    found = checked(spec)
    figures = jacobian_maps(spec, found, found.check.pairs[0])
    assert [len(figure.layout.shapes) for figure in figures] == [found.check.mismatches] * 3 == [3, 3, 3]
    rows = list(jacobian_rows(spec, found))
    assert len(rows) == found.check.entries == 16
    assert sum(off for *_, off in rows) == 3
    assert "d y[2] / d x[2]" in worst_words(spec, found, found.check.worst)


def test_complex_elements_have_two_names():
    assert element_names(4, "x", True) == ("Re x[0]", "Im x[0]", "Re x[1]", "Im x[1]")
    spec = CustomFunctionSpec(function="ComplexSquareUnconjugated", dtype="complex128")
    assert "Im" in worst_words(spec, checked(spec), checked(spec).check.worst)


@pytest.mark.parametrize(
    "name", ["CustomSigmoid", "HandReLU", "RoundStraightThrough", "SinCos", "JoinedList", "WrongShape"]
)
def test_every_function_is_drawn_in_both_themes(name):
    spec = CustomFunctionSpec(function=name)
    found = checked(spec)
    for theme in ("light", "dark"):
        figure = drawn(spec, theme)
        assert len(figure.layout.shapes) == len(runs_of(differing(found.curves[0], spec.atol, spec.rtol)))
        assert "its backward" in {trace.name for trace in figure.data} or found.curves[0].analytic is None
        ElementTree.fromstring(curves_svg(spec, found, found.curves[0], theme))


def test_a_pole_does_not_flatten_the_rest():
    spec = CustomFunctionSpec(function="My expressions", forward="log(x)", backward="g / x")
    low, high = range_of(checked(spec).curves[0])
    assert -60 < low < -1
    assert 1 < high < 60
    whole = range_of(checked(CustomFunctionSpec()).curves[0])
    assert whole[0] < 0
    assert whole[1] > 1 / (1 + np.exp(-12))


def test_a_point_where_backward_is_nan_is_marked_at_the_reference():
    fields = {"function": "My expressions", "inputs": "own points", "points": (-1.0, 0.0, 2.0)}
    formula = {"forward": "where(x == 0, 1, sin(x)/x)", "backward": "g*(x*cos(x) - sin(x))/x**2"}
    spec = CustomFunctionSpec(**fields, **formula)
    found = checked(spec)
    drawn = {trace.name: trace for trace in curves_chart(spec, found, found.curves[0]).data}
    mark = drawn["backward is NaN or ∞"]
    assert list(mark.x) == [0.0]
    assert mark.y[0] == pytest.approx(0.0, abs=1e-6)
    assert list(drawn["gradcheck's points"].x) == [-1.0, 2.0]
    text = curves_svg(spec, found, found.curves[0])
    assert "nan" not in text
    assert "M-6 0H6M0-6V6" in text
