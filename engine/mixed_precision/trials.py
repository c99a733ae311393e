"""Lines of PyTorch that fail, or come out in another dtype, under autocast: run both ways, shown in PyTorch's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from engine.mixed_precision.recorder import dtype_of
from engine.mixed_precision.results import Trial
from engine.pytorch_said import attempt

Tensors = Mapping[str, torch.Tensor]
Line = Callable[[Any], torch.Tensor]


class _Named:
    """The tensors that the lines are about: a, b and target are float32, h is what a matrix product gave."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.a = torch.rand(4, 4, device=device)
        self.b = torch.rand(4, 4, device=device)
        self.target = torch.rand(4, 4, device=device)
        self.out = torch.empty(4, 4, device=device)
        self.low = self.a.to(torch.bfloat16)
        self.index = torch.tensor([0, 1, 2, 3], device=device)
        self.wide = self.a.double()

    @property
    def h(self) -> torch.Tensor:
        return self.a @ self.b


LINES: dict[str, Line] = {
    "a @ b": lambda t: t.h,
    "(a @ b).exp()": lambda t: t.h.exp(),
    "(a @ b).softmax(-1)": lambda t: t.h.softmax(-1),
    "(a @ b) + a": lambda t: t.h + t.a,
    "torch.cat([a @ b, a])": lambda t: torch.cat([t.h, t.a]),
    "a.double() @ b.double()": lambda t: t.wide @ t.b.double(),
    "F.mse_loss(a @ b, target)": lambda t: functional.mse_loss(t.h, t.target),
    "F.cross_entropy(a @ b, index)": lambda t: functional.cross_entropy(t.h, t.index),
    "F.binary_cross_entropy((a @ b).sigmoid(), target)": lambda t: functional.binary_cross_entropy(
        t.h.sigmoid(), t.target
    ),
    "F.binary_cross_entropy_with_logits(a @ b, target)": lambda t: functional.binary_cross_entropy_with_logits(
        t.h, t.target
    ),
    "torch.mm(a, b, out=out)": lambda t: torch.mm(t.a, t.b, out=t.out),
    "out.addmm_(a, b)": lambda t: t.out.addmm_(t.a, t.b),
    "out.index_put((index,), a @ b)": lambda t: t.out.index_put((t.index,), t.h),
    "out.index_add(0, index, a @ b)": lambda t: t.out.index_add(0, t.index, t.h),
    "out.scatter(0, index[None], a @ b)": lambda t: t.out.scatter(0, t.index[None], t.h),
    "torch.lerp(a, a @ b, 0.5)": lambda t: torch.lerp(t.a, t.h, 0.5),
    "torch.linalg.solve(a, a @ b)": lambda t: torch.linalg.solve(t.a, t.h),
    "torch.einsum('ij,jk->ik', a, b)": lambda t: torch.einsum("ij,jk->ik", t.a, t.b),
    "torch.dot(a[0], (a @ b)[0])": lambda t: torch.dot(t.a[0], t.h[0]),
    "(a @ b).numpy()": lambda t: torch.from_numpy(t.h.numpy()),
}
"""As shown -> what runs; every tensor is made outside of autocast, what stands in the line is computed inside."""


def run_trials(device: str, dtype: str) -> tuple[Trial, ...]:
    """Every line plain and under autocast."""
    return tuple(_trial(code, line, device, dtype) for code, line in LINES.items())


def _trial(code: str, line: Line, device: str, dtype: str) -> Trial:
    plain, under = _Named(device), _Named(device)

    def inside() -> torch.Tensor:
        with torch.autocast(device, dtype=getattr(torch, dtype)):
            return line(under)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (a, a_said), (b, b_said) = attempt(lambda: line(plain)), attempt(inside)
    return Trial(
        code=code,
        plain=a_said.message if a_said else dtype_of(a) if a is not None else "",
        plain_type=a_said.type if a_said else "",
        under_autocast=b_said.message if b_said else dtype_of(b) if b is not None else "",
        under_autocast_type=b_said.type if b_said else "",
    )
