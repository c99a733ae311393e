"""What a call moves and computes, by formulas that are shown as they are; no torch import."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

ITEM_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "bfloat16": 2.0**-7, "float16": 2.0**-10}
"""`torch.finfo(dtype).eps`: the distance from 1 to the next number."""
COUNTED_CALLS = {"exp", "log", "sqrt"}


def value_of(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of sums of products of whole numbers and names of `sizes`: "2 * rows * columns + rows"."""
    total = 0
    for term in formula.split(" + "):
        product = 1
        for factor in term.split(" * "):
            product *= int(factor) if factor.isdigit() else sizes[factor]
        total += product
    return total


@cache
def operations_in(statements: str) -> int:
    """How many operations on numbers Python statements do: each +, -, *, /, exp, log and sqrt is one.

    Comparisons and signs count nothing: "e = exp(k * x); 1 / (1 + e)" is 4.
    """
    nodes = list(ast.walk(ast.parse(statements)))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    counted = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in COUNTED_CALLS]
    return sum(isinstance(node, ast.BinOp) for node in nodes) + len(counted)
