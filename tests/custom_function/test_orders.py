"""gradcheck of orders 1 to 4: where it first fails, and how far from the formula's derivative."""

from __future__ import annotations

import pytest
import torch

from engine.custom_function.building import make, make_inputs
from engine.custom_function.catalogue import TYPED
from engine.custom_function.checking import derivative
from engine.custom_function.spec import CustomFunctionSpec
from tests.custom_function.checking import at, check


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({}, 1),
        ({"clip": 0.5}, None),
        ({"function": "SafeSigmoid"}, None),
        ({"function": "SquareOnce"}, 2),
        ({"function": "WrongFactor"}, 1),
        ({"function": "XExp"}, None),
        ({"function": "LinearFunction"}, None),
        ({"function": TYPED, "forward": "x**4", "backward": "detach(4 * x**3) * g"}, 2),
        ({"function": TYPED, "forward": "x**4", "backward": "g * 4 * x**2 * detach(x)"}, 2),
    ],
)
def test_the_first_order_to_fail(fields, first):
    assert check(**fields).first_failing_order == first


def test_order_2_is_gradgradcheck():
    for name in ("SquareOnce", "XExp", "SafeSigmoid"):
        spec = CustomFunctionSpec(function=name)
        torch.manual_seed(0)
        own = torch.autograd.gradgradcheck(make(spec).call, make_inputs(spec), raise_exception=False)
        assert check(function=name).orders[1].passed == own


def test_a_wrong_backward_agrees_with_itself_from_order_2_on():
    orders = check(function="WrongFactor").orders
    assert [one.passed for one in orders] == [False, True, True, True]
    assert orders[1].off_formula == pytest.approx(2 - 0.5)  # 0.25 * 2 instead of 2


def test_derivatives_of_x_cubed():
    spec = CustomFunctionSpec(
        function=TYPED, forward="x**3", backward="3 * x**2 * g", inputs="own points", points=(2.0,)
    )
    values = [derivative(make(spec).call, order)(*make_inputs(spec))[0].item() for order in range(5)]
    assert values == [8.0, 12.0, 12.0, 6.0, 0.0]


def test_what_differentiating_backward_says_is_told():
    found = check(function="SquareOnce")
    assert found.verdict.kind == "once differentiable"
    assert "once_differentiable" in found.verdict.steps[-1].outcome
    assert len(found.orders) == 2


def test_a_constant_derivative_is_no_failure():
    orders = at(1.0, function="Shift").orders
    assert [one.passed for one in orders] == [True] * 4
    assert "constant" in orders[3].words
