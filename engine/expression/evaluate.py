"""The value of a parsed expression over tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from engine.expression.constants import CONSTANTS, computed
from engine.expression.functions import FUNCTIONS
from engine.expression.language import Call, Index, Name, Number, Operation, Tree

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "@": operator.matmul, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
}  # fmt: skip
_HOMES: dict[str, Any] = {"torch": torch, "F": functional, "torch.linalg": torch.linalg, "torch.Tensor": torch.Tensor}


def _callable(code: str) -> Callable[..., Any]:
    home, _, name = code.rpartition(".")
    found: Callable[..., Any] = getattr(_HOMES[home], name)
    return found


_CALLS = {name: _callable(function.code) for name, function in FUNCTIONS.items()}


def evaluate(tree: Tree, values: Mapping[str, torch.Tensor]) -> Any:
    """The tensor (or number, where no tensor is named) of `tree`; PyTorch's own errors pass through."""
    match tree:
        case Number(value):
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
        case Name(name):
            return values[name] if name in values else CONSTANTS[name]
        case Index(of, at, to, is_slice):
            return evaluate(of, values)[slice(at, to) if is_slice else at]
        case Call(function, tensors, options):
            given = [evaluate(one, values) for one in tensors]
            return _CALLS[function](*_as_tensors(given, values), **{n: int(v) if n == "dim" else v for n, v in options})
        case Operation("-", None, right):
            value = evaluate(right, values)
            return -value if isinstance(value, torch.Tensor) or value else -0.0
        case Operation(sign, left, right):
            assert left is not None
            return _operation(sign, evaluate(left, values), evaluate(right, values))
    raise TypeError(tree)


def _operation(sign: str, left: Any, right: Any) -> Any:
    """Two plain numbers as float64: whole ones could grow without end, as in 64**64**64."""
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return _OPERATIONS[sign](left, right)
    return computed(sign, left, right)


def _as_tensors(given: list[Any], values: Mapping[str, torch.Tensor]) -> list[Any]:
    """Numbers as tensors like those of the caller, so that `exp(1)` is computed too; `where` takes numbers as well."""
    like = next(iter(values.values()), torch.tensor(0.0))
    return [
        one if isinstance(one, torch.Tensor) else torch.as_tensor(one, dtype=like.dtype, device=like.device)
        for one in given
    ]
