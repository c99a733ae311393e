"""GELU in its tanh form."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from engine import operators


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
    return (torch.randn(rows, columns, dtype=dtype),)


def composed(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def built_in(x: Tensor) -> Tensor:
    return functional.gelu(x, approximate="tanh")


def atlas(x: Tensor) -> Tensor:
    result: Tensor = operators.gelu_tanh(x)
    return result
