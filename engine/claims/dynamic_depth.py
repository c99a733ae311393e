"""A stack of three layers whose depth is an argument of forward, with a residual where shapes match."""

from __future__ import annotations

import torch
from torch import nn

from engine.claims.counting import Calls, count_nodes


class DepthModel(nn.Module):
    """784 -> hidden -> hidden -> 10; `starts_with_a_residual` repairs what the article leaves unassigned."""

    def __init__(self, hidden: int, starts_with_a_residual: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(784, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 10)])
        self.dropout = nn.Dropout(0.5)
        self.starts_with_a_residual = starts_with_a_residual

    def forward(self, x: torch.Tensor, depth: int) -> torch.Tensor:
        if self.starts_with_a_residual:
            residual = None
        for number in range(depth):
            x = self.layers[number](x)
            if number < depth - 1:
                x = self.dropout(torch.relu(x))
            if number > 0 and residual is not None and x.shape == residual.shape:
                x = x + residual
            if number < depth - 2:
                residual = x
        return x


def counts(hidden: int, batch: int) -> dict[str, float]:
    """Autograd nodes behind the output of each depth, of the repaired model."""
    model, x = DepthModel(hidden, starts_with_a_residual=True), torch.randn(batch, 784, requires_grad=True)
    return {f"nodes at depth {depth}": count_nodes(model(x, depth)) for depth in (1, 2, 3)}


def calls(hidden: int, batch: int) -> Calls:
    """The forward of the article as printed, at its own depth and at full depth, and repaired."""
    x = torch.randn(batch, 784, requires_grad=True)
    printed, repaired = (DepthModel(hidden, starts_with_a_residual=repair) for repair in (False, True))
    return {
        "model(x, depth=3) as printed": lambda: printed(x, 3),
        "model(x, depth=2) as printed": lambda: printed(x, 2),
        "model(x, depth=2) with residual = None first": lambda: repaired(x, 2),
    }
