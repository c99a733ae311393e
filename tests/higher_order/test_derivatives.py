"""Derivatives of order 1 to 4: hand arithmetic, closed forms, forward mode, and the public cases."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine import run
from engine.figures.arrays import array
from engine.higher_order.derivatives import derivative_values
from engine.higher_order.functions import CLOSED_FORMS, ScalarFunction, is_elementwise, read_scalar
from engine.higher_order.spec import DerivativeSpec

NAMED = tuple(name for name in get_args(ScalarFunction) if name != "typed")


def orders(**settings):
    return run(DerivativeSpec(**settings), inline=True).orders


def test_every_named_function_has_a_closed_form():
    assert set(CLOSED_FORMS) == set(NAMED)


def test_the_cube_at_2_as_by_hand():
    found = orders(function="x**3", x=2.0, order=4)
    assert [one.value for one in found] == [8.0, 12.0, 12.0, 6.0, 0.0]


def test_the_fourth_power_and_its_graphs():
    """pytorch's own numbers for grad of grad: values, nodes and grad_fn of three orders at x = 2."""
    found = orders(function="x**4", x=2.0, order=3, dtype="float32")
    assert [one.value for one in found] == [16.0, 32.0, 48.0, 48.0]
    assert [one.nodes for one in found] == [2, 4, 4, 4]
    assert [one.grad_fn for one in found] == ["PowBackward0", "MulBackward0", "MulBackward0", "MulBackward0"]


UNUSED = (
    "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is "
    "the desired behavior."
)
LINEAR = {"function": "a * x", "x": 1.5, "a": 0.3, "order": 2, "dtype": "float32"}


def test_the_second_derivative_of_something_linear():
    found = orders(**LINEAR)
    assert (found[1].value, found[1].grad_fn) == (0.30000001192092896, "MulBackward0")
    assert (found[2].outcome, found[2].error.message) == ("error", UNUSED)
    assert orders(**LINEAR, allow_unused=True)[2].outcome == "None"
    assert orders(**LINEAR, materialize_grads=True)[2].value == 0.0


def test_other_arguments_are_tried_beside():
    settings = run(DerivativeSpec(**LINEAR), inline=True).settings
    assert [one.outcome for one in settings] == ["error", "None", "value"]
    assert settings[0].error.message == UNUSED
    assert settings[2].value == 0.0


def test_a_number_of_a_constant_slope_has_no_graph_at_all():
    found = orders(function="0.3 * x", order=2)
    assert "element 0 of tensors does not require grad" in found[2].error.message


def test_without_create_graph_there_is_no_second_order():
    found = orders(function="x**3", order=3, create_graph=False)
    assert [one.outcome for one in found] == ["value", "value", "error", "not reached"]
    assert "does not require grad" in found[2].error.message
    assert found[1].graph is None
    assert found[0].nodes == 2


@pytest.mark.parametrize("name", NAMED)
def test_every_order_agrees_with_the_one_by_hand_and_with_forward_mode(name):
    found = run(DerivativeSpec(function=name, order=4, x=0.7), inline=True)
    assert found.error is None
    assert len(found.curves) == 5
    for curve in found.curves:
        mine = array(curve.autograd)
        by_hand = array(curve.closed_form)
        known = ~np.isnan(by_hand)
        assert known.sum() >= mine.size - 1
        np.testing.assert_allclose(mine[known], by_hand[known], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine, array(curve.forward_mode), rtol=1e-9, atol=1e-12)
    for one in found.orders[1:]:
        if one.value is not None:
            assert one.finite_difference == pytest.approx(one.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["relu(x)", "abs(x)"])
def test_at_a_kink_there_is_no_derivative_and_pytorch_gives_0(name):
    found = orders(function=name, x=0.0, order=1)
    assert found[1].value == 0.0
    assert found[1].closed_form is None
    assert found[1].closed_form_text


def test_a_typed_function_is_checked_by_forward_mode():
    found = orders(function="typed", expression="x**2 * exp(sin(x))", order=3, x=0.5)
    assert all(one.closed_form is None for one in found)
    for one in found:
        assert one.value == pytest.approx(one.forward_mode, rel=1e-12)


@pytest.mark.parametrize("text", ["softmax(x * x, dim=0)", "sum(x**3)"])
def test_functions_that_join_entries_are_differentiated_number_by_number(text):
    assert not is_elementwise(read_scalar(text))
    found = run(DerivativeSpec(function="typed", expression=text, order=2, x=1.5), inline=True)
    last = found.curves[-1]
    np.testing.assert_allclose(array(last.autograd), array(last.forward_mode), rtol=1e-9, atol=1e-9)
    place = int(np.argmin(np.abs(array(found.x) - 1.5)))
    assert abs(array(found.x)[place] - 1.5) < 0.06


@pytest.mark.parametrize("text", ["x[0]", "2", "x < 1", "a", "det(x)", "1/0", "floor(x)", "where(x > 0, x**2, -x)"])
def test_odd_functions_are_answered_in_pytorchs_words_or_values(text):
    found = run(DerivativeSpec(function="typed", expression=text, order=2), inline=True)
    assert found.error is not None or found.orders[0].outcome == "value"


@pytest.mark.parametrize("text", ["", "y", "x +", "__import__('os')", "x.data", "🙂" * 200, "x**65"])
def test_what_is_no_expression_is_refused_with_its_place(text):
    with pytest.raises(ValueError, match=r"[cC]haracter"):
        DerivativeSpec(function="typed", expression=text)


SMOOTH = st.sampled_from(["sin(x)", "exp(x / 3)", "tanh(x)", "x**2", "sigmoid(x)", "x", "cos(2 * x)"])


def by_autograd(expression, x, order):
    spec = DerivativeSpec(function="typed", expression=expression)
    found = derivative_values(spec, torch.tensor(x, dtype=torch.float64), order)
    return [one.item() for one in found]


@given(first=SMOOTH, second=SMOOTH, x=st.floats(-2, 2), order=st.integers(1, 4))
def test_products_of_functions_follow_leibniz(first, second, x, order):
    """The derivative of a product from those of its factors: sums of binomials, no second differentiation."""
    f, g = by_autograd(first, x, order), by_autograd(second, x, order)
    leibniz = sum(math.comb(order, k) * f[k] * g[order - k] for k in range(order + 1))
    assert by_autograd(f"({first}) * ({second})", x, order)[-1] == pytest.approx(leibniz, rel=1e-8, abs=1e-8)


def test_the_graph_of_an_order_is_the_one_that_a_walk_finds():
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    d = torch.exp(-(x**2))
    for one in orders(function="exp(-x**2)", x=0.7, order=4):
        seen, waiting = set(), [d.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in seen:
                seen.add(node)
                waiting += [following for following, _ in node.next_functions]
        assert (one.nodes, one.grad_fn) == (len(seen), d.grad_fn.name())
        (d,) = torch.autograd.grad(d, x, create_graph=True)
