"""A deep stack of Linear + ReLU, the model of the checkpointing example."""

import torch
from torch import nn


class LinearRelu(nn.Module):
    """One block: Linear, then ReLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))  # (N, width) -> (N, width)


class LinearStack(nn.Module):
    """`layers` blocks of the same width."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(LinearRelu(width) for _ in range(layers))
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
