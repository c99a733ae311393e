"""How often a loop's body runs and how many additions and multiplications a rung does, by formula; no torch import."""

from __future__ import annotations

from engine.vectorisation.spec import Problem, RungName

ELEMENT_STEPS: dict[Problem, str] = {
    "weighted_row_sum": "rows * columns",
    "matmul": "rows * rows * columns",
    "pairwise_distance": "rows * rows * columns",
    "outer_sum": "rows * columns",
    "squared_diagonal": "rows",
}

FLOPS: dict[Problem, str] = {
    "weighted_row_sum": "2 * rows * columns",
    "matmul": "2 * rows * rows * columns",
    "pairwise_distance": "3 * rows * rows * columns + rows * rows",
    "outer_sum": "rows * columns",
    "squared_diagonal": "2 * rows",
}
"""A multiplication and an addition per product; a subtraction, a square, an addition per term and a root per entry."""

BY_MATMUL: dict[Problem, str] = {
    "pairwise_distance": "2 * rows * rows * columns + 4 * rows * columns + 5 * rows * rows",
    "outer_sum": "4 * rows * columns",
}
"""Rungs that go through a matrix product: norms (square and add, of x and y) and five operations per entry; an inner
dimension of two."""


def flops_formula(problem: Problem, rung: RungName) -> str:
    """Operations on numbers, as a product of rows and columns."""
    return BY_MATMUL.get(problem, FLOPS[problem]) if rung in ("einsum", "matmul") else FLOPS[problem]


def count(formula: str, rows: int, columns: int) -> int:
    """The value of a formula of this module: sums of products of numbers, `rows` and `columns`."""
    value = {"rows": rows, "columns": columns}
    total = 0
    for term in formula.split(" + "):
        product = 1
        for factor in term.split(" * "):
            product *= value[factor] if factor in value else int(factor)
        total += product
    return total


def loop_steps(problem: Problem, rung: RungName, rows: int, columns: int) -> int | None:
    """How often the innermost body of a Python loop runs; None for a rung without a loop."""
    if rung == "element loop":
        return count(ELEMENT_STEPS[problem], rows, columns)
    return rows if rung == "row loop" else None
