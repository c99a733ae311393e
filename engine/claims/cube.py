"""The derivatives of x ** 3, by autograd and by hand."""

from __future__ import annotations

import torch


def counts(x: float) -> dict[str, float]:
    """First and second derivative, and how far each is from 3 x ** 2 and 6 x, in float64."""
    leaf = torch.tensor([x], dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad(leaf**3, leaf, create_graph=True)[0]
    second = torch.autograd.grad(first, leaf)[0]
    error = max(abs(first.item() - 3 * x * x), abs(second.item() - 6 * x))
    return {
        "first derivative": first.item(),
        "second derivative": second.item(),
        "relative error": error / max(1.0, 3 * x * x),
    }
