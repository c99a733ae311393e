"""A hand-written sigmoid that clamps its gradient, against torch.sigmoid."""

from __future__ import annotations

from typing import Any

import torch

from engine.claims.counting import Calls

POINTS = 4001


class ClampedSigmoid(torch.autograd.Function):
    """1 / (1 + exp(-x)); the product of derivative and incoming gradient clamped to [-1, 1], as in the article."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return torch.clamp(y * (1 - y) * gradient, -1, 1)


def clamped(x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = ClampedSigmoid.apply(x)  # type: ignore[no-untyped-call]
    return y


def counts(largest: float, scale: float) -> dict[str, float]:
    """Values that are not finite, float16 values that only this sigmoid loses, gradients that the clamp changes."""
    x = torch.linspace(-largest, largest, POINTS)
    half = x.half()
    ours, ours_half = clamped(x), clamped(half)
    near = torch.linspace(-4, 4, POINTS, dtype=torch.float64, requires_grad=True)
    (ours_near,) = torch.autograd.grad((scale * clamped(near)).sum(), near)
    (true,) = torch.autograd.grad((scale * torch.sigmoid(near)).sum(), near)
    return {
        "values that are not finite": int((~ours.isfinite()).sum() + (~ours_half.isfinite()).sum()),
        "exp(-x) that overflow": int(torch.exp(-x).isinf().sum() + torch.exp(-half).isinf().sum()),
        "float16 values lost to 0": int(((ours_half == 0) & (torch.sigmoid(half) != 0)).sum()),
        "wrong gradients share": ((ours_near - true).abs() > 1e-12).double().mean().item(),
        "largest true gradient": true.abs().max().item(),
        "largest clamped gradient": ours_near.abs().max().item(),
    }


def calls(largest: float, scale: float) -> Calls:
    """gradcheck of the function, and of a loss that scales it."""
    x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
    return {
        "gradcheck(ClampedSigmoid.apply)": lambda: torch.autograd.gradcheck(clamped, (x,)),
        "gradcheck of scale * y": lambda: torch.autograd.gradcheck(lambda t: scale * clamped(t), (x,)),
    }
