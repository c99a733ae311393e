"""A block that may leave out its second linear layer."""

from __future__ import annotations

import torch
from torch import nn

from engine.claims.counting import Pairs, Work


class Block(nn.Module):
    """relu(linear(x)), with skip(x) added when asked."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear, self.skip = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor, use_skip: bool) -> torch.Tensor:
        h = self.linear(x)
        return torch.relu(h + self.skip(x) if use_skip else h)


def counts(width: int, batch: int) -> dict[str, float]:
    """Multiplications left out, and how much of the output changes when the branch is left out."""
    block, x = Block(width), torch.randn(batch, width)
    with torch.inference_mode():
        full, skipped = block(x, True), block(x, False)
    return {
        "multiplications with the branch": 2 * batch * width * width,
        "multiplications without": batch * width * width,
        "relative change of the output": ((full - skipped).norm() / full.norm()).item(),
    }


def pairs(width: int, batch: int, tiny: int) -> Pairs:
    """Inference with and without the branch, at both widths."""
    return {"wide": _ways(Block(width), torch.randn(batch, width)), "tiny": _ways(Block(tiny), torch.randn(1, tiny))}


def _ways(block: Block, x: torch.Tensor) -> dict[str, Work]:
    def run(use_skip: bool) -> torch.Tensor:
        with torch.inference_mode():
            result: torch.Tensor = block(x, use_skip)
            return result

    return {"with the branch": lambda: run(True), "without": lambda: run(False)}
