"""Arithmetic of plain numbers as float64 does it in PyTorch: 1/0 is inf and an overflow inf, where Python raises."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def computed(sign: str, left: float, right: float) -> float | bool:
    """`left sign right` by IEEE 754; ValueError where it is complex or has no meaning for plain numbers."""
    if sign == "/":
        return _quotient(float(left), float(right))
    if sign == "**":
        return _power(float(left), float(right))
    if sign not in _OPERATIONS:
        raise ValueError(f"{sign} takes tensors, not two plain numbers. Write * to multiply numbers.")
    found: float | bool = _OPERATIONS[sign](float(left), float(right))
    return found


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _power(left: float, right: float) -> float:
    is_odd = math.isfinite(right) and right % 2 == 1
    try:
        found = left**right
    except ZeroDivisionError:
        return math.copysign(math.inf, left) if is_odd else math.inf
    except OverflowError:
        return -math.inf if left < 0 and is_odd else math.inf
    if isinstance(found, complex):
        raise ValueError(
            f"({left:g})**{right:g} is complex, constants are real. Give a base of 0 or more or a whole exponent."
        )
    return float(found)
