"""The loop over rows: each row times weights, summed."""

from __future__ import annotations

import torch
from torch import Tensor

from engine import operators


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return torch.randn(rows, columns, dtype=dtype), torch.randn(columns, dtype=dtype)


def row_loop(x: Tensor, weights: Tensor) -> Tensor:
    return torch.stack([(row * weights).sum() for row in x])


def composed(x: Tensor, weights: Tensor) -> Tensor:
    return (x * weights).sum(1)


def built_in(x: Tensor, weights: Tensor) -> Tensor:
    return x @ weights


def atlas(x: Tensor, weights: Tensor) -> Tensor:
    result: Tensor = operators.weighted_row_sum(x, weights)
    return result
