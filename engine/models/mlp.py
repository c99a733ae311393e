"""Dynamic-depth MLP: the graph is whatever Python ran."""

import torch
from torch import nn


class HiddenLayer(nn.Module):
    """Linear, ReLU, dropout, and the input added back where the widths match."""

    def __init__(self, in_features: int, width: int, residual: bool, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, width)
        self.dropout = nn.Dropout(dropout)
        self.residual = residual and in_features == width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.dropout(torch.relu(self.linear(x)))  # (N, in) -> (N, width)
        return x + y if self.residual else y


class Mlp(nn.Module):
    """`layers` hidden layers are built, the first `depth` run, then the head; the other layers stay unused."""

    def __init__(
        self,
        layers: int,
        depth: int,
        width: int,
        in_features: int,
        out_features: int,
        residual: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        sizes = [in_features] + [width] * (layers - 1)
        self.layers = nn.ModuleList(HiddenLayer(size, width, residual, dropout) for size in sizes)
        self.head = nn.Linear(width, out_features)
        self.in_features = in_features
        self.depth = depth

    @property
    def blocks(self) -> list[nn.Module]:
        """The layers that run."""
        return list(self.layers)[: self.depth]

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.run_blocks(x))  # (N, width) -> (N, out_features)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, self.in_features)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.head.out_features, (batch,))
