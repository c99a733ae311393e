"""Arithmetic of plain numbers in exact fractions: 2**127 * 1.5, (1 + 2**-11) * 3, 0x1.8p-3 / 3; torch-free.

sum = product (+|- product)*, product = sign ((*|/) sign)*, sign = [+|-] power, power = one [** sign], one = number or
( sum ): the grammar of Python. Whatever else is in the text is None here.
"""

from __future__ import annotations

import re
from fractions import Fraction

LARGEST_EXPONENT = 5000
"""Of a power of ten or two in the text of one number."""
MOST_BITS = 100_000
_TOKEN = re.compile(
    r"\s*(?:(?P<hex>0x(?P<whole>[0-9a-f]*)(?:\.(?P<part>[0-9a-f]*))?(?:p(?P<two>[+-]?\d+))?)"
    r"|(?P<decimal>(?:\d+\.?\d*|\.\d+)(?:e(?P<ten>[+-]?\d+))?)|(?P<sign>\*\*|[-+*/()]))",
    re.IGNORECASE | re.ASCII,
)


class NotExactError(Exception):
    """The text is no such arithmetic, or has no exact value: 1/0, 2**0.5."""


def exact_value(text: str) -> Fraction | None:
    """The exact value of `text`; None where it has none; ValueError in words beyond the largest exponent."""
    try:
        return _Reader(_tokens(text)).read()
    except NotExactError:
        return None


def _tokens(text: str) -> list[str | Fraction]:
    tokens: list[str | Fraction] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotExactError
        tokens.append(found["sign"] or _number(found))
        place = found.end()
    return tokens


def _number(found: re.Match[str]) -> Fraction:
    for kind, letters in ((10, found["ten"]), (2, found["two"])):
        if letters and (len(letters) > 6 or abs(int(letters)) > LARGEST_EXPONENT):
            raise ValueError(
                f"The exponent of {found[0].strip()[:40]!r} is too large to compute with: a number here has an "
                f"exponent of {kind} between -{LARGEST_EXPONENT} and {LARGEST_EXPONENT}. Write a smaller one, or inf."
            )
    if not found["hex"]:
        return Fraction(found["decimal"])
    whole, part = found["whole"], found["part"] or ""
    if not whole + part:
        raise NotExactError
    return Fraction(int(whole + part, 16)) * Fraction(2) ** (int(found["two"] or 0) - 4 * len(part))


class _Reader:
    """Recursive descent over the tokens; a text of a few dozen characters cannot nest deeper."""

    def __init__(self, tokens: list[str | Fraction]) -> None:
        self.tokens, self.place = tokens, 0

    def read(self) -> Fraction:
        value = self._sum()
        if self.place < len(self.tokens):
            raise NotExactError
        return value

    def _next(self, *wanted: str) -> str | None:
        """The next token where it is one of `wanted`, and past it."""
        if self.place < len(self.tokens) and self.tokens[self.place] in wanted:
            self.place += 1
            return str(self.tokens[self.place - 1])
        return None

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._next("+", "-"):
            value = value + self._product() if sign == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while sign := self._next("*", "/"):
            other = self._signed()
            if sign == "/" and not other:
                raise NotExactError
            value = value * other if sign == "*" else value / other
        return value

    def _signed(self) -> Fraction:
        sign = self._next("+", "-")
        if sign:
            return -self._signed() if sign == "-" else self._signed()
        base = self._one()
        return _power(base, self._signed()) if self._next("**") else base

    def _one(self) -> Fraction:
        if self._next("("):
            value = self._sum()
            if not self._next(")"):
                raise NotExactError
            return value
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if not isinstance(token, Fraction):
            raise NotExactError
        self.place += 1
        return token


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or (not base and exponent < 0):
        raise NotExactError
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - (abs(base) != 1)
    if abs(exponent) > LARGEST_EXPONENT or bits * abs(exponent) > MOST_BITS:
        raise ValueError(
            f"The power of a number is too large to compute with: its exponent is at most {LARGEST_EXPONENT}, and the "
            f"result has at most {MOST_BITS} bits; received an exponent of {float(exponent):.4g}. "
            "Write a smaller one, or inf."
        )
    return base ** int(exponent)
