"""The end of a transformer's feed-forward block: bias, GELU, dropout, residual."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from engine import operators
from engine.operators.philox import dropout_scales

P, SEED = 0.1, 20240607


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    x, bias = torch.randn(rows, columns, dtype=dtype), torch.randn(columns, dtype=dtype)
    return x, bias, torch.randn(rows, columns, dtype=dtype)


def composed(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    return residual + functional.dropout(functional.gelu(x + bias, approximate="tanh"), P)


def same_mask(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The same with the mask that the compiled operator draws from SEED."""
    return residual + functional.gelu(x + bias, approximate="tanh") * dropout_scales(x, P, torch.tensor(SEED))


def atlas(x: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    result: Tensor = operators.bias_gelu_dropout_residual(x, bias, residual, P, seed=SEED)
    return result
