"""A sigmoid of beta * x whose backward clips the derivative before the incoming gradient is multiplied in."""

from __future__ import annotations

from typing import Any

import torch

from engine.claims.counting import Calls

POINTS = 2001


class ClippedSigmoid(torch.autograd.Function):
    """sigmoid(beta x); its derivative cut at `clip`, as in the article."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, beta: float, clip: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.beta, ctx.clip = beta, clip
        return torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        y = torch.sigmoid(ctx.beta * x)
        return gradient * (ctx.beta * y * (1 - y)).clamp(-ctx.clip, ctx.clip), None, None


def clipped_sigmoid(x: torch.Tensor, beta: float, clip: float) -> torch.Tensor:
    y: torch.Tensor = ClippedSigmoid.apply(x, beta, clip)  # type: ignore[no-untyped-call]
    return y


def counts(beta: float, clip: float) -> dict[str, float]:
    """Largest derivatives over x in [-6 / beta, 6 / beta], share of x where the clip bites, gradient after a loss of
    1000 y."""
    x = torch.linspace(-6 / beta, 6 / beta, POINTS, dtype=torch.float64, requires_grad=True)
    y = clipped_sigmoid(x, beta, clip)
    (clipped,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    (large,) = torch.autograd.grad((1000 * y).sum(), x)
    (true,) = torch.autograd.grad(torch.sigmoid(beta * x).sum(), x)
    return {
        "largest true derivative": true.max().item(),
        "largest clipped derivative": clipped.max().item(),
        "clipped share": (true > clip).double().mean().item(),
        "largest error of the derivative": (true - clipped).abs().max().item(),
        "largest gradient of 1000 y": large.abs().max().item(),
    }


def calls(beta: float, clip: float) -> Calls:
    """Whether gradcheck accepts the backward."""
    x = torch.linspace(-1 / beta, 1 / beta, 9, dtype=torch.float64, requires_grad=True)

    def checked() -> bool:
        return torch.autograd.gradcheck(lambda t: clipped_sigmoid(t, beta, clip), (x,))

    return {"gradcheck(ClippedSigmoid.apply)": checked}
