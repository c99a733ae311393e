"""What the Functions return, by hand arithmetic and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.custom_function.catalogue import CATALOGUE, TYPED
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.arrays import array
from tests.custom_function.checking import at, check, gradients


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_custom_sigmoid_clips_the_derivative_before_grad_output():
    # beta s (1 - s) = 2 * 0.25 = 0.5 at 0, cut at 0.1, times 3
    found = at(0.0, -3.0, beta=2.0, clip=0.1, grad_output=3.0)
    s = sigmoid(-6.0)
    assert gradients(found) == pytest.approx([0.3, 3 * 2 * s * (1 - s)], rel=1e-12)
    assert array(found.call.outputs[0]) == pytest.approx([0.5, s], rel=1e-12)
    assert found.call.returned_count == 3


def test_safe_sigmoid_clamps_after_grad_output():
    # 0.25 * 8 = 2, cut to 1; 0.25 * 3 = 0.75 is let through
    assert gradients(at(0.0, function="SafeSigmoid", grad_output=8.0)) == pytest.approx([1.0])
    assert gradients(at(0.0, function="SafeSigmoid", grad_output=3.0)) == pytest.approx([0.75])
    assert gradients(at(0.0, function="SafeSigmoid", grad_output=-8.0)) == pytest.approx([-1.0])


def test_fused_gelu_returns_the_derivative_of_another_approximation():
    x, s = 1.0, sigmoid(1.702)
    found = at(0.0, x, function="FusedGELU")
    assert gradients(found) == pytest.approx([0.5, s + 1.702 * x * s * (1 - s)], rel=1e-12)
    tanh = math.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715))
    assert array(found.call.outputs[0]) == pytest.approx([0.0, 0.5 * (1 + tanh)], rel=1e-12)


CLOSED = [
    ("HandReLU", {}, [0.0, 1.0]),
    ("RoundStraightThrough", {"limit": 1.0}, [1.0, 0.0]),
    ("SignStraightThrough", {"limit": 1.0}, [1.0, 0.0]),
    ("ClipGradient", {"scale": -4.0, "limit": 1.0}, [-1.0, -1.0]),
    ("ReverseGradient", {"scale": 0.5}, [-0.5, -0.5]),
    ("SinCos", {}, [math.cos(-0.5) - math.sin(-0.5), math.cos(2) - math.sin(2)]),
    ("SinCosUnmaterialized", {}, [math.cos(-0.5) - math.sin(-0.5), math.cos(2) - math.sin(2)]),
    ("SquareAndFloor", {}, [-1.0, 4.0]),
    ("Shift", {}, [1.0, 1.0]),
    ("Joined", {}, [1.0, 1.0]),
    ("Fixed", {"scale": 7.0}, [7.0, 7.0]),
    ("ComplexSquare", {}, [-1.0, 4.0]),
    ("SquareOnce", {}, [-1.0, 4.0]),
    ("XExp", {}, [0.5 * math.exp(-0.5), 3 * math.exp(2)]),
    ("XExpOnCtx", {}, [0.5 * math.exp(-0.5), 3 * math.exp(2)]),
    ("ScaleInPlace", {"scale": 3.0}, [3.0, 3.0]),
    ("Noisy", {"noise": 0.0}, [2.0, 2.0]),
    ("WrongFactor", {"factor": 0.25}, [-0.25, 1.0]),
]


@pytest.mark.parametrize(("name", "fields", "expected"), CLOSED, ids=[case[0] for case in CLOSED])
def test_a_backward_returns_what_its_rule_says(name, fields, expected):
    assert gradients(at(-0.5, 2.0, function=name, **fields)) == pytest.approx(expected, rel=1e-12)


def test_the_linear_function_gives_all_three_gradients():
    found = check(function="LinearFunction")
    x, weight = array(found.inputs[0]), array(found.inputs[1])
    assert gradients(found, 0) == pytest.approx(weight.sum(0)[None])
    assert gradients(found, 1) == pytest.approx(np.broadcast_to(x, weight.shape))
    assert gradients(found, 2) == pytest.approx([1.0, 1.0])


ELEMENTWISE = [name for name, entry in CATALOGUE.items() if entry.plain]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_the_formula_is_the_forward(name):
    """`plain` is what autograd, the complex step and the verdict are worked out from."""
    spec = CustomFunctionSpec(function=name, scale=3.0)
    from engine.custom_function.building import make, make_inputs

    made = make(spec)
    with_formula = [one.detach().numpy() for one in made.plain(*make_inputs(spec))]
    own = [one.detach().numpy() for one in made.call(*make_inputs(spec))]
    assert len(own) == len(with_formula)
    for one, other in zip(own, with_formula, strict=True):
        assert one == pytest.approx(other, rel=1e-13)


def test_typed_texts_become_a_function():
    found = at(-0.5, 2.0, function=TYPED, forward="x**3", backward="3 * x**2 * g", grad_output=2.0)
    assert array(found.call.outputs[0]) == pytest.approx([-0.125, 8.0])
    assert gradients(found) == pytest.approx([1.5, 24.0])
    assert found.call.grad_fn == "MyFunctionBackward"


def test_a_second_input_has_its_own_gradient():
    found = at(-0.5, 2.0, function=TYPED, forward="x * z", backward="g * z", backward_z="g * x")
    assert found.input_names == ("x", "z")
    assert gradients(found, 0) == pytest.approx([0.5, 1.5])
    assert gradients(found, 1) == pytest.approx([-0.5, 2.0])
    assert found.verdict.kind == "right"


def test_without_a_backward_autograd_differentiates_forward():
    found = at(-0.5, 2.0, function=TYPED, forward="x**3", backward="")
    assert found.call.grad_fn.startswith("PowBackward")
    assert found.verdict.kind == "right"


@pytest.mark.parametrize("forward", ["1", "x > 0", "pi * e", "x", "-x", "x == x"])
def test_plain_numbers_comparisons_and_x_itself_are_outputs_too(forward):
    found = check(function=TYPED, forward=forward, backward="0 * g")
    assert found.call.forward_error is None
    assert array(found.call.outputs[0]).shape == (4,)
