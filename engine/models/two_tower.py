"""Two inputs, two outputs in a dict, one trunk between them."""

import torch
from torch import nn


class TrunkLayer(nn.Module):
    """Linear, then ReLU."""

    def __init__(self, in_features: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


class TwoTower(nn.Module):
    """A tower per input, a shared trunk, a main head and an auxiliary head."""

    def __init__(self, width: int, classes: int = 10) -> None:
        super().__init__()
        self.left_tower = nn.Linear(width, width)
        self.right_tower = nn.Linear(width, width)
        self.blocks = nn.ModuleList([TrunkLayer(2 * width, width), TrunkLayer(width, width)])
        self.head = nn.Linear(width, classes)
        self.auxiliary_head = nn.Linear(width, 1)
        self.width = width

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> dict[str, torch.Tensor]:
        both = torch.cat([self.left_tower(left), self.right_tower(right)], dim=1)  # 2 x (N, width) -> (N, 2 width)
        trunk = self.run_blocks(both)  # -> (N, width)
        return {"logits": self.head(trunk), "auxiliary": self.auxiliary_head(trunk)}

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"left": torch.randn(batch, self.width), "right": torch.randn(batch, self.width)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.head.out_features, (batch,))
