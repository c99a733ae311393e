"""The functions that can be differentiated, and closed forms of their derivatives; no torch here.

A function of one number is text in the safe language, so presets and what people type go one way.
"""

from __future__ import annotations

from typing import Literal

from engine.expression.functions import FUNCTIONS
from engine.expression.language import Call, ExpressionError, Index, Operation, Tree, parse_expression

ScalarFunction = Literal[
    "x**3",
    "x**4",
    "sin(x)",
    "exp(-x**2)",
    "relu(x)",
    "gelu(x)",
    "abs(x)",
    "softplus(x)",
    "0.3 * x",
    "a * x",
    "typed",
]
"""`a` is a second leaf that requires grad; `typed` reads the expression of the spec."""
VectorFunction = Literal[
    "Rosenbrock",
    "quadratic form",
    "product",
    "logsumexp",
    "softmax",
    "ReLU layer",
    "tanh layer",
    "ReLU network loss",
    "tanh network loss",
    "tanh network, mse_loss",
    "typed",
]
ProductFunction = Literal[
    "Rosenbrock",
    "quadratic form",
    "product",
    "logsumexp",
    "ReLU layer",
    "tanh layer",
    "ReLU network loss",
    "tanh network loss",
    "tanh network, mse_loss",
]
"""Those that return one number at any size, and so have a Hessian."""

_DENSITY = "exp(-x**2 / 2) / sqrt(2 * pi)"
_STEP = "heaviside(x, nan)"
_NOT_AT_0 = f"0 * {_STEP}"

CLOSED_FORMS: dict[str, tuple[str, str, str, str]] = {
    "x**3": ("3 * x**2", "6 * x", "6", "0"),
    "x**4": ("4 * x**3", "12 * x**2", "24 * x", "24"),
    "sin(x)": ("cos(x)", "-sin(x)", "-cos(x)", "sin(x)"),
    "exp(-x**2)": (
        "-2 * x * exp(-x**2)",
        "(4 * x**2 - 2) * exp(-x**2)",
        "(12 * x - 8 * x**3) * exp(-x**2)",
        "(16 * x**4 - 48 * x**2 + 12) * exp(-x**2)",
    ),
    "relu(x)": (_STEP, _NOT_AT_0, _NOT_AT_0, _NOT_AT_0),
    "abs(x)": (f"2 * {_STEP} - 1", _NOT_AT_0, _NOT_AT_0, _NOT_AT_0),
    "gelu(x)": (
        f"(1 + erf(x / sqrt(2))) / 2 + x * {_DENSITY}",
        f"(2 - x**2) * {_DENSITY}",
        f"(x**3 - 4 * x) * {_DENSITY}",
        f"(7 * x**2 - x**4 - 4) * {_DENSITY}",
    ),
    "softplus(x)": (
        "sigmoid(x)",
        "sigmoid(x) * sigmoid(-x)",
        "sigmoid(x) * sigmoid(-x) * (1 - 2 * sigmoid(x))",
        "sigmoid(x) * sigmoid(-x) * (1 - 6 * sigmoid(x) * sigmoid(-x))",
    ),
    "0.3 * x": ("0.3", "0", "0", "0"),
    "a * x": ("a", "0", "0", "0"),
}
"""Derivatives of order 1 to 4 by hand; `nan` where there is none, which for relu and abs is at 0."""

_JOINING = {"sum", "mean", "prod", "cumsum", "logsumexp", "softmax", "log_softmax", "dot", "matmul", "mv", "norm"}
_JOINING |= {"amax", "amin", "var", "std", "det", "logdet", "trace"}


def read_scalar(text: str) -> Tree:
    """The tree of a function of the number x, in which the leaf a may occur; ValueError with the column."""
    return _read(text, ("x", "a"))


def read_vector(text: str) -> Tree:
    """The tree of a function of the vector x; ValueError with the column."""
    return _read(text, ("x",))


def _read(text: str, names: tuple[str, ...]) -> Tree:
    try:
        return parse_expression(text, names)
    except ExpressionError as error:
        raise ValueError(f"{error} (character {error.column + 1} of {text[:60]!r})") from None


def is_elementwise(tree: Tree) -> bool:
    """Whether no entry of a vector x meets another, so that many numbers can be differentiated in one go."""
    match tree:
        case Index():
            return False
        case Call(function, tensors):
            return function in FUNCTIONS.keys() - _JOINING and all(map(is_elementwise, tensors))
        case Operation(operator, left, right):
            return operator != "@" and is_elementwise(right) and (left is None or is_elementwise(left))
    return True
