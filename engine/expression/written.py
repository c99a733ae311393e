"""An expression as the PyTorch code a person would write."""

from __future__ import annotations

import math

from engine.expression.functions import CONSTANTS, FUNCTIONS
from engine.expression.language import Call, Index, Name, Number, Operation, Tree, constant_of

_STRENGTH = {"<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "+": 2, "-": 2, "*": 3, "/": 3, "@": 3, "**": 5}
_NEGATION, _WHOLE = 4, 9
LARGEST_WHOLE = 1e15


def python_of(tree: Tree) -> str:
    """The expression as plain PyTorch (`torch.exp(x)`, `F.gelu(x)`, `math.pi`), for scripts."""
    return _written(tree, next(iter(names_in(tree)), ""))[0]


def names_in(tree: Tree) -> dict[str, None]:
    """The tensors an expression names, in order of first use."""
    match tree:
        case Name(name):
            return {} if name in CONSTANTS else {name: None}
        case Index(of):
            return names_in(of)
        case Call(_, tensors):
            return {name: None for one in tensors for name in names_in(one)}
        case Operation(_, left, right):
            return {**(names_in(left) if left is not None else {}), **names_in(right)}
    return {}


def _written(tree: Tree, like: str) -> tuple[str, int]:
    """Text and how strongly it binds; `like` is the tensor that gives its dtype to constants that must be tensors."""
    folded = _folded(tree)
    if folded is not None:
        return folded
    match tree:
        case Number(value):
            plain = int(value) if value.is_integer() and abs(value) < 1e15 else value
            return str(plain), _WHOLE
        case Name(name):
            return CONSTANTS.get(name, name), _WHOLE
        case Index(of, at, to, is_slice):
            inside = f"{'' if at is None else at}:{'' if to is None else to}" if is_slice else str(at)
            return f"{_bracketed(of, like, _WHOLE)}[{inside}]", _WHOLE
        case Call(function, tensors, options):
            given = [_argument(one, like) for one in tensors]
            given += [f"{name}={int(value) if name == 'dim' else repr(value)}" for name, value in options]
            return f"{FUNCTIONS[function].code}({', '.join(given)})", _WHOLE
        case Operation("-", None, right):
            return f"-{_bracketed(right, like, _NEGATION)}", _NEGATION
        case Operation(operator, left, right):
            strength = _STRENGTH[operator]
            assert left is not None
            sides = (strength + 1, _NEGATION) if operator == "**" else (strength, strength + 1)
            return f"{_bracketed(left, like, sides[0])} {operator} {_bracketed(right, like, sides[1])}", strength
    raise TypeError(tree)


def _folded(tree: Tree) -> tuple[str, int] | None:
    """Plain numbers that Python would refuse or compute without end, by their value: 1 / 0 as math.inf."""
    value = None if isinstance(tree, Name) else constant_of(tree)
    if value is None or abs(value) < LARGEST_WHOLE:
        return None
    if math.isfinite(value):
        return repr(float(value)), _WHOLE if value > 0 else _NEGATION
    return (
        ("math.nan", _WHOLE) if math.isnan(value) else ("math.inf", _WHOLE) if value > 0 else ("-math.inf", _NEGATION)
    )


def _argument(tree: Tree, like: str) -> str:
    text = _written(tree, like)[0]
    if names_in(tree):
        return text
    return f"torch.as_tensor({text}, dtype={like}.dtype)" if like else f"torch.as_tensor({text})"


def _bracketed(tree: Tree, like: str, least: int) -> str:
    text, strength = _written(tree, like)
    return text if strength >= least else f"({text})"
