"""The article's scripted tanh-GELU with the derivative of x * sigmoid(1.702 x), against F.gelu."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch.nn import functional

from engine.claims.counting import Calls, Pairs, Work, live_bytes


def composed_gelu(x: torch.Tensor) -> torch.Tensor:
    """tanh-GELU from elementary operations."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    scripted_gelu = torch.jit.script(composed_gelu)


class ApproximateGelu(torch.autograd.Function):
    """Forward the scripted tanh-GELU, backward the derivative of another function."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        y: torch.Tensor = scripted_gelu(x)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(1.702 * x)
        return gradient * (s + 1.702 * x * s * (1 - s))


def approximate_gelu(x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = ApproximateGelu.apply(x)  # type: ignore[no-untyped-call]
    return y


def counts(size: int) -> dict[str, float]:
    """How far the backward is from the derivative of its forward on [-6, 6], and bytes alive at once."""
    x = torch.linspace(-6, 6, 4001, dtype=torch.float64, requires_grad=True)
    (ours,) = torch.autograd.grad(approximate_gelu(x).sum(), x)
    (true,) = torch.autograd.grad(functional.gelu(x, approximate="tanh").sum(), x)
    peaks = {name: live_bytes(work).peak_bytes for name, work in _steps(torch.randn(size, size)).items()}
    return {
        "largest error of the derivative": (ours - true).abs().max().item(),
        "x where it is largest": x[(ours - true).abs().argmax()].item(),
        **{f"peak bytes of {name}": peak for name, peak in peaks.items()},
    }


def pairs(size: int) -> Pairs:
    """Forward and backward of the erf-GELU that F.gelu computes by default, of its tanh form, composed and scripted."""
    return {"forward and backward": _steps(torch.randn(size, size))}


def calls(size: int) -> Calls:
    """Whether the backward is the derivative of the forward."""
    x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
    return {"gradcheck(ApproximateGelu.apply)": lambda: torch.autograd.gradcheck(approximate_gelu, (x,))}


def _steps(values: torch.Tensor) -> dict[str, Work]:
    def step(function: Any) -> Work:
        def run() -> None:
            x = values.detach().requires_grad_()
            function(x).sum().backward()

        return run

    return {
        "F.gelu": step(functional.gelu),
        "F.gelu(tanh)": step(lambda x: functional.gelu(x, approximate="tanh")),
        "composed": step(composed_gelu),
        "scripted, approximate backward": step(approximate_gelu),
    }
