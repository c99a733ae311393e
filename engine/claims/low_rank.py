"""A linear layer fine-tuned whole or by LoRA: trainable parameters, optimizer state, and a training step."""

from __future__ import annotations

import torch
from torch import nn

from engine.claims.counting import Pairs, Work


class LowRankLinear(nn.Module):
    """A frozen linear layer plus x A B * (alpha / rank)."""

    def __init__(self, layer: nn.Linear, rank: int, alpha: float = 8.0) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(layer.in_features, rank) * 0.01)
        self.lora_B = nn.Parameter(torch.zeros(rank, layer.out_features))
        self.scaling = alpha / rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layer(x) + (x @ self.lora_A @ self.lora_B) * self.scaling
        return out


def counts(width: int, rank: int) -> dict[str, float]:
    """Parameters trained, gradient and Adam state bytes of both, and the first output's change."""
    layer, x = nn.Linear(width, width), torch.randn(4, width)
    before = layer(x)
    whole = sum(p.numel() for p in layer.parameters())
    adapted = LowRankLinear(layer, rank)
    trained = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    return {
        "parameters of the layer": whole,
        "trainable parameters": trained,
        "trainable share": trained / (whole + trained),
        "gradient and Adam bytes, whole": 3 * 4 * whole,
        "gradient and Adam bytes, LoRA": 3 * 4 * trained,
        "change of the output at the start": (adapted(x) - before).abs().max().item(),
    }


def pairs(width: int, rank: int, small_batch: int, large_batch: int) -> Pairs:
    """A step of forward, backward and Adam at both batch sizes."""
    return {
        name: {
            "whole layer": _step(nn.Linear(width, width), torch.randn(batch, width)),
            "LoRA": _step(LowRankLinear(nn.Linear(width, width), rank), torch.randn(batch, width)),
        }
        for name, batch in (("small batch", small_batch), ("large batch", large_batch))
    }


def _step(model: nn.Module, x: torch.Tensor) -> Work:
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad])

    def run() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return run
