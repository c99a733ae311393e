"""One weight used many times."""

import torch
from torch import nn


class TanhLinear(nn.Module):
    """Linear, then tanh."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))  # (N, width) -> (N, width)


class TiedLoop(nn.Module):
    """The same block applied `steps` times; its gradient is the sum over the uses."""

    def __init__(self, steps: int, width: int) -> None:
        super().__init__()
        self.step = TanhLinear(width)
        self.steps = steps
        self.width = width

    @property
    def blocks(self) -> list[nn.Module]:
        return [self.step] * self.steps

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
