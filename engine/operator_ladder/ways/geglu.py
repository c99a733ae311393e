"""GEGLU: one half of each row times the GELU of the other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from engine import operators


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return (torch.randn(rows, 2 * columns, dtype=dtype),)


def composed(x: Tensor) -> Tensor:
    value, gate = x.chunk(2, -1)
    return value * functional.gelu(gate, approximate="tanh")


def atlas(x: Tensor) -> Tensor:
    result: Tensor = operators.geglu(x)
    return result
