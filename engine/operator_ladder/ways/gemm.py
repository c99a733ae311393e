"""The matrix product, by every kernel of its ladder."""

from __future__ import annotations

import torch
from torch import Tensor

from engine import operators


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return torch.randn(rows, inner, dtype=dtype), torch.randn(inner, columns, dtype=dtype)


def naive(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = operators.gemm(a, b, kernel="naive")
    return result


def ikj(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = operators.gemm(a, b, kernel="ikj")
    return result


def tiled(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = operators.gemm(a, b, kernel="tiled")
    return result


def built_in(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b)


def atlas(a: Tensor, b: Tensor) -> Tensor:
    result: Tensor = operators.gemm(a, b, kernel="packed")
    return result
