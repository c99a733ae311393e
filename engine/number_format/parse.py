"""Numbers as people type them, read exactly: 0.1, 1/3, 0x1.8p-3, 2**-24, inf, nan; torch-free."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import msgspec

from engine.expression.language import ExpressionError, constant_of, parse_expression

MOST_VALUES = 6
LONGEST_TEXT = 60
LARGEST_EXPONENT = 1100
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE | re.ASCII)
_QUOTIENT = re.compile(r"([+-]?\d{1,30})\s*/\s*(\d{1,30})", re.ASCII)
_POWER = re.compile(r"([+-]?)2\*\*(-?\d{1,4})", re.ASCII)
_HEX = re.compile(r"[+-]?0x([0-9a-f]*\.?[0-9a-f]+|[0-9a-f]+\.)(p[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII)


class Typed(msgspec.Struct, frozen=True):
    """One number: its text, its exact value where it gives one (not for inf and nan), and the nearest float64."""

    text: str
    exact: Fraction | None
    value: float


def parse_values(text: str) -> tuple[Typed, ...]:
    """The numbers between commas; ValueError in words for what is none."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not entries or len(entries) > MOST_VALUES:
        raise ValueError(
            f"1 to {MOST_VALUES} numbers between commas are shown; received {len(entries)}. "
            "Write as in 0.1, 1/3, 2**-24."
        )
    return tuple(parse_value(entry) for entry in entries)


def parse_value(text: str) -> Typed:
    """One number: decimal, quotient, hexadecimal float, inf, nan, or arithmetic of plain numbers."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"A number has at most {LONGEST_TEXT} characters; received {len(text)}. Shorten it.")
    exact = _exact(text)
    if exact is not None:
        return Typed(text, exact, _float(exact, text))
    value = _computed(text)
    return Typed(text, Fraction(value) if math.isfinite(value) else None, value)


def _exact(text: str) -> Fraction | None:
    if _DECIMAL.fullmatch(text):
        return Fraction(text)
    if found := _QUOTIENT.fullmatch(text):
        return None if int(found[2]) == 0 else Fraction(int(found[1]), int(found[2]))
    if (found := _POWER.fullmatch(text)) and abs(int(found[2])) <= LARGEST_EXPONENT:
        magnitude = Fraction(2) ** int(found[2])
        return -magnitude if found[1] == "-" else magnitude
    if _HEX.fullmatch(text):
        try:
            return Fraction(float.fromhex(text))
        except OverflowError:
            raise ValueError(f"{text!r} is beyond float64. Write a smaller number, or inf.") from None
    return None


def _float(exact: Fraction, text: str) -> float:
    """The nearest float64, inf beyond its range; -0.0 where the text has a minus."""
    try:
        value = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return -0.0 if value == 0 and text.lstrip().startswith("-") else value


def _computed(text: str) -> float:
    try:
        value = constant_of(parse_expression(text, ()))
    except ExpressionError:
        value = None
    if value is None:
        raise ValueError(
            f"{text[:40]!r} is not a number here. Write 0.1, 1/3, 0x1.8p-3, 2**-24, (1 + 2**-11) * 3, inf or nan."
        )
    return float(value)
