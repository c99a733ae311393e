"""Numbers as people type them, read exactly: 0.1, 1/3, 0x1.8p-3, 2**-24, inf, nan; torch-free."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import msgspec

from engine.expression.language import ExpressionError, constant_of, parse_expression
from engine.number_format.exact import LARGEST_EXPONENT, exact_value

MOST_VALUES = 6
LONGEST_TEXT = 60
_SPECIAL = re.compile(r"([+-]?)\s*(inf|infinity|nan)", re.IGNORECASE | re.ASCII)


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
    """One number: decimal, quotient, power, hexadecimal float and arithmetic of them, exactly; inf and nan."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"A number has at most {LONGEST_TEXT} characters; received {len(text)}. Shorten it.")
    if found := _SPECIAL.fullmatch(text):
        return Typed(text, None, float(found[1] + found[2]))
    exact = exact_value(text)
    if exact is not None:
        return Typed(text, exact, _float(exact, text))
    value = _computed(text)
    return Typed(text, Fraction(value) if math.isfinite(value) else None, value)


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
            f"{text[:40]!r} is not a number here. Write 0.1, 1/3, 0x1.8p-3, 2**-24, (1 + 2**-11) * 3, inf or nan; "
            f"exponents reach from -{LARGEST_EXPONENT} to {LARGEST_EXPONENT}."
        )
    return float(value)
