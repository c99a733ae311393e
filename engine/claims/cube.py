"""The derivatives of x ** 3, by autograd and by hand."""

from __future__ import annotations

import torch


def counts(at: float) -> dict[str, float]:
    """First and second derivative, and how far each is from 3 x ** 2 and 6 x, in float64."""
    x = torch.tensor([at], dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad(x**3, x, create_graph=True)[0]
    second = torch.autograd.grad(first, x)[0]
    return {
        "first derivative": first.item(),
        "second derivative": second.item(),
        "relative error": max(abs(first.item() - 3 * at * at), abs(second.item() - 6 * at)) / max(1.0, 3 * at * at),
    }
