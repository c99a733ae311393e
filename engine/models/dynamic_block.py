"""A layer that Python's `if` decides about at run time."""

import torch
from torch import nn


class SkipLayer(nn.Module):
    """Linear, plus a linear skip when asked, then ReLU."""

    def __init__(self, width: int, use_skip: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.skip = nn.Linear(width, width)
        self.use_skip = use_skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(x)  # (N, width) -> (N, width)
        if self.use_skip:
            hidden = hidden + self.skip(x)
        return torch.relu(hidden)


class DynamicBlock(nn.Module):
    """One `SkipLayer`; without the skip its parameters are built but never used."""

    def __init__(self, width: int, use_skip: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([SkipLayer(width, use_skip)])
        self.width = width

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run_blocks(x)

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, self.width)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.width, (batch,))
