"""What a call moves and computes, by formulas that are shown as they are: sums of products; no torch import."""

from __future__ import annotations

from collections.abc import Mapping

ITEM_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "bfloat16": 2.0**-7, "float16": 2.0**-10}
"""`torch.finfo(dtype).eps`: the distance from 1 to the next number."""


def value_of(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of sums of products of whole numbers and names of `sizes`: "2 * rows * columns + rows"."""
    total = 0
    for term in formula.split(" + "):
        product = 1
        for factor in term.split(" * "):
            product *= int(factor) if factor.isdigit() else sizes[factor]
        total += product
    return total
