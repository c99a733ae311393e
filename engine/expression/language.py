"""Parsing of expressions over named tensors, `(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2`, and their text in Python.

The text is read by `ast` and walked into a tree of our own; nothing of it is evaluated or used as an attribute name.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection
from typing import Literal

import msgspec

from engine.expression.constants import CONSTANTS as VALUES
from engine.expression.constants import computed
from engine.expression.functions import CONSTANTS, FUNCTIONS

LONGEST_TEXT = 500
DEEPEST_TREE = 40
LARGEST_POWER = 64
"""Largest whole number in the text of an exponent or index: x**64 is read, x**65 is not."""

Operator = Literal["+", "-", "*", "/", "**", "@", "<", "<=", ">", ">=", "=="]
_BINARY: dict[type[ast.operator], Operator] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Operator] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
}  # fmt: skip


class ExpressionError(ValueError):
    """What could not be read, at which column of the text, and how to write it."""

    def __init__(self, problem: str, column: int = 0) -> None:
        super().__init__(problem)
        self.column = column


class Number(msgspec.Struct, frozen=True, tag="number"):
    value: float


class Name(msgspec.Struct, frozen=True, tag="name"):
    """A tensor of the caller, or a constant of the language."""

    name: str


class Index(msgspec.Struct, frozen=True, tag="index"):
    """`of[at]` or, with `to`, `of[at:to]` (either end may be None)."""

    of: Tree
    at: int | None
    to: int | None = None
    is_slice: bool = False


class Operation(msgspec.Struct, frozen=True, tag="operation"):
    """`left operator right`; with operator "-" and no left, a negation."""

    operator: Operator
    left: Tree | None
    right: Tree


class Call(msgspec.Struct, frozen=True, tag="call"):
    """A function of the table with tensors and options (name, number)."""

    function: str
    tensors: tuple[Tree, ...]
    options: tuple[tuple[str, float], ...] = ()


Tree = Number | Name | Index | Operation | Call


def constant_of(tree: Tree) -> float | bool | None:
    """The value of a tree of plain numbers as float64, None where a tensor or a function is in it."""
    match tree:
        case Number(value):
            return value
        case Name(name):
            return VALUES.get(name)
        case Operation(sign, left, right):
            first, second = (0.0 if left is None else constant_of(left)), constant_of(right)
            if first is None or second is None:
                return None
            return -second if left is None else computed(sign, first, second)
    return None


def parse_expression(text: str, names: Collection[str]) -> Tree:
    """The tree of `text` over the tensors `names`.

    Raises ExpressionError (a ValueError) for an empty or too long text, a name that is not known, and whatever is not
    arithmetic, comparison, indexing with whole numbers or a call of the table `FUNCTIONS`.
    """
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(f"An expression has at most {LONGEST_TEXT} characters; received {len(text)}. Shorten it.")
    if not text.strip():
        raise ExpressionError(f"The expression is empty. Write one of {', '.join(names)}, as in {example_of(names)}.")
    flat = "".join(" " if letter.isspace() else letter for letter in text)
    lead = len(flat) - len(flat.lstrip())
    try:
        tree = ast.parse(flat.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(
            f"This is not an expression: {error.msg}. Write it as in Python: {example_of(names)}.",
            lead + max(0, (error.offset or 1) - 1),
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise ExpressionError("The expression is nested too deeply. Use fewer brackets.") from None
    return _Reader(names, lead).read(tree, 0)


def example_of(names: Collection[str]) -> str:
    first = next(iter(names), "x")
    return f"{first} * sigmoid({first})"


class _Reader:
    def __init__(self, names: Collection[str], lead: int) -> None:
        self.names = names
        self.lead = lead

    def error(self, problem: str, node: ast.AST) -> ExpressionError:
        return ExpressionError(problem, self.lead + getattr(node, "col_offset", 0))

    def read(self, node: ast.expr, depth: int) -> Tree:
        if depth > DEEPEST_TREE:
            raise self.error(f"The expression is nested deeper than {DEEPEST_TREE}. Use fewer brackets.", node)
        match node:
            case ast.Constant():
                return Number(self.number(node))
            case ast.Name():
                return self.name(node)
            case ast.UnaryOp(op=ast.USub()):
                return Operation("-", None, self.read(node.operand, depth + 1))
            case ast.UnaryOp(op=ast.UAdd()):
                return self.read(node.operand, depth + 1)
            case ast.BinOp() if type(node.op) in _BINARY:
                return self.operation(node, depth)
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in _COMPARE:
                pair = self.read(node.left, depth + 1), self.read(right, depth + 1)
                return self.real(Operation(_COMPARE[type(operator)], *pair), node)
            case ast.Subscript():
                return self.index(node, depth)
            case ast.Call():
                return self.call(node, depth)
        raise self.error(
            f"{type(node).__name__} has no place in an expression. Use + - * / ** @, comparisons, x[0] and "
            "functions such as exp(x).",
            node,
        )

    def number(self, node: ast.Constant) -> float:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self.error(f"{node.value!r} is no number. Write digits, as in 2 or 0.5.", node)
        try:
            return float(node.value)
        except OverflowError:
            raise self.error("This number is too large for float64. Write a smaller one.", node) from None

    def name(self, node: ast.Name) -> Name:
        if node.id in self.names or node.id in CONSTANTS:
            return Name(node.id)
        known = ", ".join([*self.names, *CONSTANTS])
        hint = f" Write {node.id}(...) to call it." if node.id in FUNCTIONS else f" Known are {known}."
        raise self.error(f"{node.id!r} is not known here.{hint}", node)

    def operation(self, node: ast.BinOp, depth: int) -> Tree:
        left, right = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
        if isinstance(node.op, ast.Pow) and isinstance(right, Number) and abs(right.value) > LARGEST_POWER:
            raise self.error(f"An exponent is at most {LARGEST_POWER}; received {right.value:g}.", node.right)
        return self.real(Operation(_BINARY[type(node.op)], left, right), node)

    def real(self, tree: Operation, node: ast.expr) -> Operation:
        """The operation, refused where two plain numbers have no real result."""
        try:
            constant_of(tree)
        except ValueError as error:
            raise self.error(str(error), node) from None
        return tree

    def index(self, node: ast.Subscript, depth: int) -> Index:
        of = self.read(node.value, depth + 1)
        if constant_of(of) is not None:
            raise self.error("A plain number has no elements. Index a tensor, as in x[0].", node)
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise self.error("A slice has no step here. Write x[1:] or x[:-1].", node)
            ends = [None if end is None else self.whole(end) for end in (node.slice.lower, node.slice.upper)]
            return Index(of, ends[0], ends[1], True)
        return Index(of, self.whole(node.slice))

    def whole(self, node: ast.expr) -> int:
        sign, digits = (
            (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
        )
        if not isinstance(digits, ast.Constant) or type(digits.value) is not int or digits.value > 10_000:
            raise self.error("An index is a whole number up to 10000, as in x[0].", node)
        return sign * digits.value

    def call(self, node: ast.Call, depth: int) -> Call:
        function = FUNCTIONS.get(self.called(node.func))
        if function is None:
            raise self.error(
                f"{ast.unparse(node.func)[:40]!r} is not a function here. Known are {', '.join(sorted(FUNCTIONS))}.",
                node,
            )
        if len(node.args) != function.tensors or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.error(
                f"{function.name} takes {function.tensors} argument{'s' * (function.tensors > 1)}"
                f"{', then ' + ', '.join(function.options) + ' by name' if function.options else ''}; "
                f"received {len(node.args)}.",
                node,
            )
        options = tuple((self.option(function.name, one), self.option_value(one)) for one in node.keywords)
        given = [name for name, _ in options]
        if len(set(given)) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise self.error(f"{function.name} is given {twice} more than once. Leave one out.", node)
        return Call(function.name, tuple(self.read(one, depth + 1) for one in node.args), options)

    def called(self, node: ast.expr) -> str:
        """`exp` of `exp`, `torch.exp` or `F.relu`."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("torch", "F"):
            return node.attr
        return node.id if isinstance(node, ast.Name) else ""

    def option(self, function: str, given: ast.keyword) -> str:
        known = FUNCTIONS[function].options
        if given.arg not in known:
            raise self.error(
                f"{function} has no option {given.arg!r}. It takes {', '.join(known) or 'none'}.",
                given,
            )
        assert given.arg is not None
        return given.arg

    def option_value(self, given: ast.keyword) -> float:
        value = self.signed(given.value)
        if given.arg == "dim" and not (math.isfinite(value) and value.is_integer() and abs(value) <= LARGEST_POWER):
            raise self.error(
                f"dim is a whole number up to {LARGEST_POWER}, as in dim=0; received {value:g}.", given.value
            )
        return value

    def signed(self, node: ast.expr) -> float:
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        digits = node.operand if isinstance(node, ast.UnaryOp) and negative else node
        if not isinstance(digits, ast.Constant):
            raise self.error("An option is a number, as in clamp(x, min=-1, max=1).", node)
        return -self.number(digits) if negative else self.number(digits)
