"""Curves against closed forms; differences and the complex step against each other."""

from __future__ import annotations

import numpy as np
import pytest

from engine.custom_function.catalogue import TYPED
from engine.custom_function.curves import is_analytic
from engine.expression.language import parse_expression
from engine.figures.custom_function_curves import values_of
from tests.custom_function.checking import check


def columns(found, output=0):
    curve = found.curves[output]
    names = ("x", "forward", "analytic", "autograd", "numeric", "complex_step")
    return {name: values_of(curve, name) for name in names}


def test_the_sigmoid_and_its_clipped_derivative():
    found = columns(check(beta=2.0, clip=0.1, grad_output=3.0, x_from=-3.0, x_to=3.0, samples=61))
    s = 1 / (1 + np.exp(-2 * found["x"]))
    true = 3 * 2 * s * (1 - s)
    assert found["x"] == pytest.approx(np.linspace(-3, 3, 61))
    assert found["forward"] == pytest.approx(s, rel=1e-13)
    assert found["analytic"] == pytest.approx(3 * np.minimum(2 * s * (1 - s), 0.1), rel=1e-12)
    for name, near in (("autograd", 1e-13), ("complex_step", 1e-13), ("numeric", 1e-9)):
        assert found[name] == pytest.approx(true, abs=near)


def test_a_clamp_of_the_product_shows_only_for_large_gradients():
    small = columns(check(function="SafeSigmoid", grad_output=4.0))
    assert small["analytic"] == pytest.approx(small["complex_step"], abs=1e-13)
    large = columns(check(function="SafeSigmoid", grad_output=8.0))
    assert large["analytic"].max() == 1.0
    assert large["complex_step"].max() == pytest.approx(2.0, abs=1e-3)


def test_both_outputs_have_a_curve():
    found = check(function="SinCos", samples=31)
    x = columns(found)["x"]
    assert columns(found, 0)["analytic"] == pytest.approx(np.cos(x), abs=1e-14)
    assert columns(found, 1)["analytic"] == pytest.approx(-np.sin(x), abs=1e-14)
    assert columns(found, 1)["complex_step"] == pytest.approx(-np.sin(x), abs=1e-14)


def test_an_output_without_gradient_has_a_curve_without_backward():
    found = check(function="SquareAndFloor")
    assert columns(found, 1)["analytic"] is None
    assert found.curves[1].note == "This output does not require grad."


def test_a_backward_that_fails_leaves_the_other_lines():
    found = check(function="WrongShape")
    assert columns(found)["analytic"] is None
    assert columns(found)["numeric"] == pytest.approx(2 * columns(found)["x"], abs=1e-8)
    assert "invalid gradient" in found.curves[0].note


@pytest.mark.parametrize("forward", ["softmax(x, dim=0)", "sum(x)", "cumsum(x, dim=0)", "x - mean(x)", "x[0]"])
def test_what_is_not_elementwise_has_no_curve(forward):
    assert check(function=TYPED, forward=forward, backward="").curves == ()


@pytest.mark.parametrize("forward", ["exp(-x**2)", "sin(x) / (2 + cos(x))", "tanh(x) ** 3", "x * sigmoid(x)"])
def test_the_complex_step_is_autograds_derivative(forward):
    found = columns(check(function=TYPED, forward=forward, backward="", samples=51))
    assert found["complex_step"] == pytest.approx(found["autograd"], rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("forward", ["abs(x)", "relu(x)", "x * (x > 0)", "clamp(x, min=0)", "1 / round(x)"])
def test_no_complex_step_where_there_is_no_complex_derivative(forward):
    assert not is_analytic(parse_expression(forward, ("x",)))
    assert columns(check(function=TYPED, forward=forward, backward=""))["complex_step"] is None
