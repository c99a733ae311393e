"""What a row of the operators' test table says; the rows are in tests/operators/cases, one file per operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

FLOATING = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DEVICES = ("cpu", *(("cuda",) if torch.cuda.is_available() else ()))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to call an operator, and what it must give.

    `call(*inputs)` is the operator, `reference(*inputs)` the same in PyTorch's own operations (run in float64 by the
    tests). `inputs(make)` builds the tensors by `make(*shape)`, which the tests choose: dtype, device, layout.
    `differentiable` says which of the inputs have a gradient.
    """

    operator: str
    label: str = ""
    call: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: Callable[[Callable[..., Tensor]], tuple[Any, ...]]
    differentiable: tuple[int, ...] = (0,)
    dtypes: tuple[torch.dtype, ...] = FLOATING
    twice_differentiable: bool = True
    true_derivative: bool = True
    """False where the backward is, on purpose, not the derivative of the forward: gradcheck must say so."""
    relative: float = 4.0
    """Allowed error in units of the dtype's eps, of the largest magnitude in the reference."""
    elementwise: bool = False
    """Every element of the first input stands alone: any shape, zero-size and 0-d are accepted."""
    vmap: bool = False

    def __str__(self) -> str:
        return f"{self.operator}-{self.label}" if self.label else self.operator


def maker(dtype: torch.dtype, device: str = "cpu", *, seed: int = 0, scale: float = 2.0) -> Callable[..., Tensor]:
    """make(*shape): normal values of `dtype` on `device`, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)

    def make(*shape: int) -> Tensor:
        values = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
        return values.to(device=device, dtype=dtype)

    return make
