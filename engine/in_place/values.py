"""Reading the values of a program: creations, chains of methods and views, and the arithmetic around them."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection

from engine.expression.functions import FUNCTIONS
from engine.expression.language import ExpressionError, parse_expression
from engine.in_place.methods import ATTRIBUTES, CREATION_OPTIONS, CREATIONS, DTYPES, METHODS, OWN_FUNCTIONS
from engine.in_place.statements import (
    Arithmetic,
    AttributeStep,
    Call,
    Chain,
    Create,
    IndexStep,
    MethodStep,
    Plain,
    Slice,
    Step,
    Value,
)

LONGEST_NAME = 12
LARGEST_TENSOR = 1024
"""Elements of a tensor that a program creates."""
LARGEST_SIZE = 10_000
DEEPEST = 12
_PART = "part_"


class StatementError(ValueError):
    """What cannot be read, in which line, and how to write it."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"Line {line} {problem}" if line else problem)
        self.problem, self.line = problem, line

    def at(self, line: int) -> StatementError:
        return self if self.line else StatementError(self.problem, line)


def called_name(node: ast.expr) -> str:
    """`relu` of `relu`, `torch.relu`, `F.relu` and `nn.functional.relu`; "" for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("torch", "F"):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class ValueReader:
    """Reads one value; `known` are the names that have a value by then."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known
        self.parts: list[tuple[str, Value]] = []

    def read(self, node: ast.expr, depth: int = 0) -> Value:
        if depth > DEEPEST:
            raise StatementError(f"is nested deeper than {DEEPEST}. Name what is inside first")
        if not is_part(node, self.known):
            return self.arithmetic(node, depth)
        if isinstance(node, ast.Call) and is_own(node):
            name = called_name(node.func)
            return self.create(name, node) if name in CREATIONS else self.call(name, node, depth)
        return self.chain(node, self.step(node, depth), depth)

    def chain(self, node: ast.expr, last: Step, depth: int) -> Chain:
        inner = node.func.value if isinstance(node, ast.Call) else node.value  # type: ignore[attr-defined]
        base = self.read(inner, depth + 1)
        return Chain(base.base, (*base.steps, last)) if isinstance(base, Chain) else Chain(base, (last,))

    def step(self, node: ast.expr, depth: int) -> Step:
        """The last step of a chain."""
        if isinstance(node, ast.Subscript):
            return IndexStep(self.index(node.slice))
        if isinstance(node, ast.Call):
            return self.method(node, depth)
        assert isinstance(node, ast.Attribute)
        if node.attr not in ATTRIBUTES:
            raise StatementError(f"asks for .{node.attr[:30]}. Known are .{', .'.join(ATTRIBUTES)}")
        return AttributeStep(node.attr)

    def method(self, node: ast.Call, depth: int) -> MethodStep:
        assert isinstance(node.func, ast.Attribute)
        found = METHODS.get(node.func.attr)
        if found is None:
            raise StatementError(f"calls .{node.func.attr[:30]}(...). Known are {', '.join(sorted(METHODS))}")
        if not found.fewest <= len(node.args) <= found.most + 2 * (found.name in ("expand", "view", "permute")):
            raise StatementError(f"gives .{found.name}() {len(node.args)} arguments; it takes {takes(found)}")
        if any(one.arg not in found.options for one in node.keywords):
            raise StatementError(
                f"gives .{found.name}() an unknown option; it takes {', '.join(found.options) or 'none'}"
            )
        arguments = tuple(self.argument(one, depth) for one in node.args)
        options = tuple((str(one.arg), self.argument(one.value, depth)) for one in node.keywords)
        return MethodStep(found.name, arguments, options)

    def argument(self, node: ast.expr, depth: int) -> Value | Plain:
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool)):
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(whole(one) for one in node.elts)
        if (number := plain_number(node)) is not None:
            return number
        return ValueReader(self.known).read(node, depth + 1)

    def index(self, node: ast.expr) -> tuple[int | Slice, ...]:
        items = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(
            Slice(*(None if end is None else whole(end) for end in (one.lower, one.upper, one.step)))
            if isinstance(one, ast.Slice)
            else whole(one)
            for one in items
        )

    def call(self, name: str, node: ast.Call, depth: int) -> Call:
        given = node.args
        if name == "cat":
            given = given[0].elts if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple) else []
        fewest, most = (1, 8) if name == "cat" else OWN_FUNCTIONS[name]
        if not fewest <= len(given) <= most:
            raise StatementError(f"gives {name} {len(given)} arguments; it takes {fewest} to {most} tensors")
        flags = {one.arg: one.value for one in node.keywords}
        if flags and (name != "relu" or set(flags) != {"inplace"}):
            raise StatementError(f"gives {name} an unknown option. Only relu(x, inplace=True) has one")
        flag = flags.get("inplace")
        if flag is not None and not (isinstance(flag, ast.Constant) and isinstance(flag.value, bool)):
            raise StatementError("gives inplace something else than True or False")
        in_place = isinstance(flag, ast.Constant) and flag.value is True
        return Call(name, tuple(ValueReader(self.known).read(one, depth + 1) for one in given), in_place)

    def create(self, name: str, node: ast.Call) -> Create:
        options = {str(one.arg): one.value for one in node.keywords}
        if unknown := [one for one in options if one not in CREATION_OPTIONS]:
            raise StatementError(f"gives {name} the option {unknown[0][:30]!r}; it takes {', '.join(CREATION_OPTIONS)}")
        grad = options.get("requires_grad")
        if grad is not None and not (isinstance(grad, ast.Constant) and isinstance(grad.value, bool)):
            raise StatementError("gives requires_grad something else than True or False")
        dtype = called_name(options["dtype"]) if "dtype" in options else ""
        if "dtype" in options and dtype not in DTYPES:
            raise StatementError(f"asks for an unknown dtype; known are {', '.join(DTYPES)}")
        values = tuple(_literal(one, 0) for one in node.args)
        check_size(name, values)
        return Create(name, values, isinstance(grad, ast.Constant) and grad.value is True, dtype)

    def arithmetic(self, node: ast.expr, depth: int) -> Arithmetic:
        """What the expression language reads; chains and calls inside of it become parts with names of their own."""
        replaced = _Replace(self, depth).visit(node)
        names = [*self.known, *(name for name, _ in self.parts)]
        try:
            return Arithmetic(parse_expression(ast.unparse(replaced), names), tuple(self.parts))
        except ExpressionError as error:
            raise StatementError(f"cannot be read: {error}") from None


class _Replace(ast.NodeTransformer):
    """Puts a name in place of every part that the expression language does not read."""

    def __init__(self, reader: ValueReader, depth: int) -> None:
        self.reader, self.depth = reader, depth

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name) and node.id.startswith(_PART):
            raise StatementError(f"uses the name {node.id[:40]!r}, which is not known here")
        if not isinstance(node, ast.expr) or not is_part(node, self.reader.known):
            return self.generic_visit(node)
        name = f"{_PART}{len(self.reader.parts)}"
        self.reader.parts.append((name, ValueReader(self.reader.known).read(node, self.depth + 1)))
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def is_part(node: ast.expr, known: Collection[str]) -> bool:
    """Whether a value is read here and not by the expression language: an index, a method, an attribute, a creation."""
    if isinstance(node, ast.Subscript):
        return True
    called = node.func if isinstance(node, ast.Call) else node
    of_module = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
    if isinstance(called, ast.Attribute) and not (of_module and called_name(called) and called.value.id not in known):  # type: ignore[attr-defined]
        return True
    return isinstance(node, ast.Call) and is_own(node)


def is_own(node: ast.Call) -> bool:
    """Whether a call is a creation, or a function that the expression language does not have in this form."""
    name = called_name(node.func)
    return name in CREATIONS or (name in OWN_FUNCTIONS and (name not in FUNCTIONS or bool(node.keywords)))


def takes(method: object) -> str:
    """How many arguments a method takes, in words."""
    fewest, most = getattr(method, "fewest", 0), getattr(method, "most", 0)
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def plain_number(node: ast.expr) -> float | None:
    """A number as written, with its sign; None for anything else."""
    sign, digits = (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
    if isinstance(digits, ast.Constant) and type(digits.value) in (int, float):
        number = digits.value
        assert isinstance(number, int | float)
        if isinstance(number, int) and number > 2**53:
            raise StatementError("holds a number above 2**53. Write a smaller one")
        return sign * number
    return None


def whole(node: ast.expr) -> int:
    """A whole number of an index or a size."""
    number = plain_number(node)
    if not isinstance(number, int) or abs(number) > LARGEST_SIZE:
        raise StatementError(f"needs whole numbers up to {LARGEST_SIZE} there, as in x[0], x[1:] or x.view(2, 3)")
    return number


def _literal(node: ast.expr, depth: int) -> object:
    if isinstance(node, ast.Tuple | ast.List) and depth < 4:
        return tuple(_literal(one, depth + 1) for one in node.elts)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    named = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if isinstance(named, ast.Name) and named.id in ("inf", "nan"):
        return -float(named.id) if negative else float(named.id)
    number = plain_number(node)
    if number is None:
        raise StatementError("makes a tensor from something else than numbers. Write ones(2, 3) or tensor([1., 2.])")
    return number


def check_size(function: str, values: tuple[object, ...]) -> None:
    """StatementError for a creation with sizes that are none, or above LARGEST_TENSOR elements."""
    if function == "tensor":
        if len(values) != 1:
            raise StatementError("gives tensor more than one argument. Write tensor([1., 2.])")
        return
    if function in ("arange", "linspace"):
        _check_range(function, values)
        return
    sizes = values[0] if values and isinstance(values[0], tuple) else values
    assert isinstance(sizes, tuple)
    if any(type(one) is not int or one < 0 or one > LARGEST_SIZE for one in sizes) or len(sizes) > 4:
        raise StatementError(f"gives {function} sizes that are none. Write {function}(2, 3), up to 4 whole numbers")
    if math.prod(sizes) > LARGEST_TENSOR:
        raise StatementError(f"makes {math.prod(sizes)} elements; the limit is {LARGEST_TENSOR}. Take smaller sizes")


def _check_range(function: str, values: tuple[object, ...]) -> None:
    numbers = [one for one in values if isinstance(one, int | float)]
    if not values or len(numbers) != len(values) or len(numbers) > 3 or not all(map(math.isfinite, numbers)):
        raise StatementError(f"gives {function} something else than one to three numbers")
    start, end = (0.0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) == 3 else 1.0
    count = step if function == "linspace" else abs((end - start) / step) if step else math.inf
    if count > LARGEST_TENSOR:
        raise StatementError(f"makes more than {LARGEST_TENSOR} elements. Take a smaller range")
