"""The layout of every floating point dtype of torch, read by hand: bits -> exact value; torch-free.

IEEE 754 for float64, float32, float16; bfloat16 and float8_e5m2 follow it. The names of the other float8 say what is
left out (OCP 8-bit floating point, 2023; arXiv:2206.02915): `fn` finite, no inf; `uz` no negative zero, whose bits are
the one nan. float8_e8m0fnu (OCP microscaling, 2023) holds powers of two alone: no sign, no mantissa, no zero.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import msgspec

Special = Literal["finite", "inf", "-inf", "nan"]
Kind = Literal["ieee", "fn", "fnuz", "powers"]


class Format(msgspec.Struct, frozen=True):
    """Bits of sign, exponent and mantissa, and what the exponent is counted from."""

    name: str
    sign_bits: int
    exponent_bits: int
    mantissa_bits: int
    bias: int
    kind: Kind
    source: str

    @property
    def bits(self) -> int:
        return self.sign_bits + self.exponent_bits + self.mantissa_bits

    def fields(self, bits: int) -> tuple[int, int, int]:
        """(sign, exponent, mantissa) as they are stored."""
        mantissa = bits & ((1 << self.mantissa_bits) - 1)
        exponent = (bits >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1)
        return (bits >> (self.bits - 1)) & self.sign_bits, exponent, mantissa

    def special(self, bits: int) -> Special:
        """Whether these bits are a number."""
        sign, exponent, mantissa = self.fields(bits)
        top = (1 << self.exponent_bits) - 1
        if self.kind == "powers":
            return "nan" if exponent == top else "finite"
        if self.kind == "fnuz":
            return "nan" if sign and not exponent and not mantissa else "finite"
        if self.kind == "fn":
            return "nan" if exponent == top and mantissa == (1 << self.mantissa_bits) - 1 else "finite"
        if exponent < top:
            return "finite"
        return "nan" if mantissa else "-inf" if sign else "inf"

    def value(self, bits: int) -> Fraction:
        """The exact value of finite bits; ValueError for inf and nan."""
        if self.special(bits) != "finite":
            raise ValueError(f"bits {bits:#x} of {self.name} are {self.special(bits)}, no number. Ask `special` first.")
        sign, exponent, mantissa = self.fields(bits)
        if self.kind == "powers":
            return _two_to(exponent - self.bias)
        is_normal = exponent > 0
        whole = mantissa + (is_normal << self.mantissa_bits)
        magnitude = whole * _two_to(max(exponent, 1) - self.bias - self.mantissa_bits)
        return -magnitude if sign else magnitude

    @property
    def largest_bits(self) -> int:
        """Bits of the largest finite number."""
        found = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        while self.special(found) != "finite":
            found = found - 1 if self.kind != "ieee" else found & ~(1 << self.mantissa_bits)
        return found

    @property
    def largest(self) -> Fraction:
        return self.value(self.largest_bits)

    @property
    def smallest_normal(self) -> Fraction:
        return self.value(0) if self.kind == "powers" else _two_to(1 - self.bias)

    @property
    def smallest_subnormal(self) -> Fraction | None:
        """The smallest number above 0; None where the format has neither 0 nor subnormals."""
        return None if self.kind == "powers" else self.value(1)

    @property
    def eps(self) -> Fraction:
        """Distance from 1 to the next larger number."""
        return _two_to(-self.mantissa_bits)

    @property
    def smallest(self) -> Fraction:
        """The smallest number above 0."""
        return self.smallest_normal if self.smallest_subnormal is None else self.smallest_subnormal


def _two_to(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


_IEEE, _OCP = "IEEE 754", "OCP OFP8"
FORMATS: tuple[Format, ...] = (
    Format("float64", 1, 11, 52, 1023, "ieee", _IEEE),
    Format("float32", 1, 8, 23, 127, "ieee", _IEEE),
    Format("bfloat16", 1, 8, 7, 127, "ieee", "the upper half of float32"),
    Format("float16", 1, 5, 10, 15, "ieee", _IEEE),
    Format("float8_e5m2", 1, 5, 2, 15, "ieee", _OCP),
    Format("float8_e4m3fn", 1, 4, 3, 7, "fn", _OCP),
    Format("float8_e5m2fnuz", 1, 5, 2, 16, "fnuz", "arXiv:2206.02915"),
    Format("float8_e4m3fnuz", 1, 4, 3, 8, "fnuz", "arXiv:2206.02915"),
    Format("float8_e8m0fnu", 0, 8, 0, 127, "powers", "OCP MX"),
)
BY_NAME = {one.name: one for one in FORMATS}


def neighbours(layout: Format, bits: int) -> tuple[Fraction | None, Fraction | None]:
    """The numbers next below and above finite bits, None where there is none."""
    value = layout.value(bits)
    magnitude = bits & ((1 << (layout.bits - layout.sign_bits)) - 1)
    outward = layout.value(magnitude + 1) if magnitude < layout.largest_bits else None
    if layout.kind == "powers":
        return (layout.value(bits - 1) if bits else None), outward
    if value == 0:
        return -layout.smallest, layout.smallest
    inward = layout.value(magnitude - 1)
    if value > 0:
        return inward, outward
    return (None if outward is None else -outward), -inward


def nearest(layout: Format, exact: Fraction) -> int | None:
    """Bits of the number nearest to `exact`, a tie to the even mantissa; None beyond the largest, where it rounds away.

    Without mantissa bits (float8_e8m0fnu) a tie goes up, and without a sign the magnitude is taken.
    Found by bisection over all positive numbers, in exact arithmetic: the second method beside torch's conversion.
    """
    negative = exact < 0 and bool(layout.sign_bits)
    low, high, magnitude = 0, layout.largest_bits, abs(exact)
    halfway = layout.largest + _next_spacing(layout) / 2
    if magnitude > halfway or (magnitude == halfway and (layout.largest_bits % 2 or layout.kind == "powers")):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if layout.value(middle) <= magnitude else (low, middle - 1)
    if low < layout.largest_bits:
        below, above = magnitude - layout.value(low), layout.value(low + 1) - magnitude
        if above < below or (above == below and (low % 2 or layout.kind == "powers")):
            low += 1
    sign = (negative << (layout.bits - 1)) if not (layout.kind == "fnuz" and low == 0) else 0
    return low | sign


def _next_spacing(layout: Format) -> Fraction:
    """From the largest number to the next there would be; between powers of two the gap doubles each time."""
    below = layout.largest - layout.value(layout.largest_bits - 1)
    return 2 * below if layout.kind == "powers" else below
