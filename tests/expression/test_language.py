"""Expressions compute what Python computes of their text; what is no arithmetic is refused in words."""

from __future__ import annotations

import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from engine.expression.evaluate import evaluate
from engine.expression.functions import FUNCTIONS
from engine.expression.language import ExpressionError, parse_expression
from engine.expression.written import names_in, python_of

X = torch.tensor([0.3, 0.7], dtype=torch.float64)
SPACE = {"torch": torch, "F": F, "math": math, "x": X, "y": X + 1}


def computed(text: str) -> torch.Tensor:
    return torch.as_tensor(evaluate(parse_expression(text, ["x", "y"]), {"x": X, "y": X + 1}), dtype=torch.float64)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2", 0.7**2 + 100 * (0.7 - 0.09) ** 2),
        ("x[1] - x[0] - x[0]", 0.1),
        ("-x[0]**2", -0.09),
        ("2**-x[0]", 2**-0.3),
        ("x[0] / (x[1] / 2)", 0.6 / 0.7),
        ("exp(-x[0]**2 / 2) / sqrt(2 * pi)", math.exp(-0.045) / math.sqrt(2 * math.pi)),
        ("where(x[0] > 0.5, x[0], 0)", 0.0),
        ("clamp(x[0], min=-1, max=0.25)", 0.25),
        ("x[1:] @ x[:-1]", 0.21),
        ("sum(x, dim=0)", 1.0),
    ],
)
def test_values_are_those_of_arithmetic(text, value):
    assert computed(text).item() == pytest.approx(value, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_can_be_called_and_written(name):
    function = FUNCTIONS[name]
    if name in ("det", "logdet", "trace", "mv"):
        pytest.skip("takes a matrix")
    dim = ", dim=0" if "dim" in function.options else ""
    if name == "clamp":
        dim = ", min=0.4"
    text = f"{name}({'x > 0.5, x, y' if name == 'where' else ', '.join(['x', 'y'][: function.tensors])}{dim})"
    written = python_of(parse_expression(text, ["x", "y"]))
    assert torch.allclose(
        computed(text), torch.as_tensor(eval(written, SPACE), dtype=torch.float64), rtol=0, atol=0, equal_nan=True
    )


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["x", "y", "2 * x", "pi - y", "x[0]", "-y", "exp(2)", "sigmoid(x)"]))
    left, right = draw(texts(depth - 1)), draw(texts(depth - 1))
    return draw(
        st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "{} - ({})", "-({} / ({}))", "sigmoid({})**({})"])
    ).format(left, right)


@given(texts())
def test_written_code_computes_the_same(text):
    written = python_of(parse_expression(text, ["x", "y"]))
    assert torch.allclose(
        computed(text),
        torch.as_tensor(eval(written, SPACE), dtype=torch.float64),
        equal_nan=True,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("z", "'z' is not known"),
        ("exp", "Write exp(...) to call it"),
        ("exp(x, y)", "takes 1 argument"),
        ("x.__class__", "Attribute has no place"),
        ("(lambda: x)()", "is not a function"),
        ("[x]", "List has no place"),
        ("x if y else x", "IfExp has no place"),
        ("x**65", "at most 64"),
        ("x[0:2:2]", "no step"),
        ("x[y]", "whole number"),
        ("clamp(x, low=1)", "no option 'low'"),
        ("'a'", "is no number"),
        ("True", "is no number"),
        ("x +", "not an expression"),
        ("x" + " + x" * 200, "at most 500 characters"),
        ("-" * 60 + "x", "nested deeper"),
        ("1e999 if x else 2", "IfExp"),
        ("__import__('os')", "is not a function"),
        ("torch.load(x)", "is not a function"),
        ("x; y", "not an expression"),
        ("exp(*x)", "takes 1 argument"),
        ("1 < x < 2", "Compare"),
        ("(-2)**0.5 * x", "is complex"),
        ("(1 - 3)**(1 / 2)", "is complex"),
        ("2 @ 3", "takes tensors"),
        ("2[0] * x", "has no elements"),
        ("sum(x, dim=1e999)", "dim is a whole number"),
        ("sum(x, dim=0.5)", "dim is a whole number"),
        ("clamp(x, min=0, min=1)", "min more than once"),
    ],
)
def test_what_is_no_arithmetic_is_refused_in_words(text, words):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text, ["x", "y"])
    assert words in str(caught.value)
    assert 0 <= caught.value.column <= len(text)


def test_names_come_in_order_of_use():
    assert list(names_in(parse_expression("y * exp(x) + pi", ["x", "y"]))) == ["y", "x"]


@pytest.mark.parametrize(
    "text",
    ["1 / 0", "-1 / 0", "0 / 0", "1 / (-0.0)", "0**(-1)", "(-0.0)**(-1)", "(-0.0)**(-2)", "64**64**64", "2 > 1",
     "(-64)**63**63", "(-10)**(60 + 1) * 1e300", "1e308 * 10", "inf - inf", "(-8)**3", "(2 > 1) + 1", "(-inf)**3"],
)  # fmt: skip
def test_plain_numbers_follow_ieee_as_float64_tensors_do(text):
    as_tensors = re.sub(r"(?<![\w.])(\d[\d.e]*|inf)", r"torch.tensor(float('\1'), dtype=torch.float64)", text)
    expected = torch.as_tensor(eval(as_tensors, {"torch": torch}), dtype=torch.float64)
    written = torch.as_tensor(eval(python_of(parse_expression(text, ["x"])), SPACE), dtype=torch.float64)
    assert torch.allclose(computed(text), expected, equal_nan=True)
    assert torch.allclose(written, expected, equal_nan=True)
