"""A weighted sum of every row: the article's loop over elements against einsum, and how far they agree."""

from __future__ import annotations

import torch

from engine.claims.counting import Pairs
from engine.vectorisation.problems import (
    weighted_row_sum_einsum,
    weighted_row_sum_element_loop,
    weighted_row_sum_row_loop,
)


def counts(rows: int, columns: int) -> dict[str, float]:
    """Agreement at the article's tolerance, and errors against float64."""
    x, weights = torch.randn(rows, columns), torch.randn(columns)
    loop, einsum = weighted_row_sum_element_loop(x, weights), weighted_row_sum_einsum(x, weights)
    exact = x.double() @ weights.double()
    return {
        "allclose(rtol=1e-6)": torch.allclose(loop, einsum, rtol=1e-6),
        "allclose()": torch.allclose(loop, einsum, rtol=1e-5, atol=1e-5),
        "largest error of the loop": (loop - exact).abs().max().item(),
        "largest error of einsum": (einsum - exact).abs().max().item(),
        "steps of the loop": rows * columns,
    }


def pairs(rows: int, columns: int) -> Pairs:
    """Both, and a loop over rows between them."""
    x, weights = torch.randn(rows, columns), torch.randn(columns)
    return {
        "row sums": {
            "element loop": lambda: weighted_row_sum_element_loop(x, weights),
            "row loop": lambda: weighted_row_sum_row_loop(x, weights),
            "einsum": lambda: weighted_row_sum_einsum(x, weights),
        }
    }
