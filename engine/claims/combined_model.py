"""A small transformer of two kinds that compute the same: by PyTorch's operations, and by the compiled operators."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from engine.operators import adamw_step_, bias_gelu_dropout_residual, layer_norm_residual

CLASSES, LENGTH, FEATURES = 8, 32, 16
HEADS, DROPOUT = 4, 0.1


class Block(nn.Module):
    """Attention, then two linear layers with a tanh-GELU after each; x + what each half adds."""

    def __init__(self, width: int, compiled: bool) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, HEADS, batch_first=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.compiled = compiled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        attended = self.attention(y, y, y, need_weights=False)[0]
        if self.compiled:
            y, x = layer_norm_residual(attended, x, self.second.weight, self.second.bias)
            hidden = self.down(functional.gelu(self.up(y), approximate="tanh"))
            out: torch.Tensor = bias_gelu_dropout_residual(hidden, self.bias, x, DROPOUT, training=self.training)
            return out
        x = x + attended
        hidden = self.down(functional.gelu(self.up(self.second(x)), approximate="tanh"))
        return x + functional.dropout(functional.gelu(hidden + self.bias, approximate="tanh"), DROPOUT, self.training)


class Classifier(nn.Module):
    """Blocks over a noisy sequence, the mean of the last one classified."""

    def __init__(self, width: int, layers: int, checkpoints: bool, compiled: bool) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(FEATURES, width), nn.Linear(width, CLASSES)
        self.blocks = nn.ModuleList([Block(width, compiled) for _ in range(layers)])
        self.checkpoints = checkpoints

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints and self.training else block(x)
        logits: torch.Tensor = self.head(x.mean(1))
        return logits


class CompiledAdamW:
    """AdamW over all parameters in one pass of the compiled operator."""

    def __init__(self, parameters: list[nn.Parameter], lr: float) -> None:
        self.parameters, self.lr, self.steps = parameters, lr, 0
        self.averages, self.squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        self.steps += 1
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        adamw_step_(self.parameters, gradients, self.averages, self.squares, step=self.steps, lr=self.lr)
