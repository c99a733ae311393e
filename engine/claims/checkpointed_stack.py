"""Deep stacks of layers with and without checkpoints: bytes held for backward, and time."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from engine.claims.counting import Pairs, held_bytes

Forward = Callable[[], torch.Tensor]


class Stacks:
    """The article's stack of Linear and ReLU, one of wide blocks, and every way to run them."""

    def __init__(self, layers: int, width: int, batch: int, every: int) -> None:
        self.plain = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.blocks = nn.ModuleList(
            [
                nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1))
                for _ in range(layers)
            ]
        )
        self.every = every
        self.segments = max(1, round(math.sqrt(layers)))
        self.x = torch.randn(batch, width, requires_grad=True)

    def forward_plain(self) -> torch.Tensor:
        x = self.x
        for layer in self.plain:
            x = torch.relu(layer(x))
        return x

    def forward_every(self) -> torch.Tensor:
        """As the article: every so many layers the Linear alone is checkpointed."""
        x = self.x
        for number, layer in enumerate(self.plain):
            x = torch.relu(checkpoint(layer, x, use_reentrant=False) if number % self.every == 0 else layer(x))
        return x

    def forward_blocks(self) -> torch.Tensor:
        x = self.x
        for block in self.blocks:
            x = block(x)
        return x

    def forward_blocks_every(self) -> torch.Tensor:
        x = self.x
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if number % self.every == 0 else block(x)
        return x

    def forward_segments(self) -> torch.Tensor:
        """About the square root of the number of blocks as segments, each checkpointed as a whole."""
        out: torch.Tensor = checkpoint_sequential(  # type: ignore[no-untyped-call]
            self.blocks, self.segments, self.x, use_reentrant=False
        )
        return out


def counts(layers: int, width: int, batch: int, every: int) -> dict[str, float]:
    """Bytes held between forward and backward, parameters left out."""
    stacks = Stacks(layers, width, batch, every)
    linear = held_bytes(stacks.forward_plain, stacks.plain)
    linear_every = held_bytes(stacks.forward_every, stacks.plain)
    blocks = held_bytes(stacks.forward_blocks, stacks.blocks)
    blocks_every = held_bytes(stacks.forward_blocks_every, stacks.blocks)
    segments = held_bytes(stacks.forward_segments, stacks.blocks)
    return {
        "Linear + ReLU held bytes": linear,
        "Linear + ReLU checkpointed held bytes": linear_every,
        "Linear + ReLU saved share": 1 - linear_every / linear,
        "blocks held bytes": blocks,
        "blocks checkpointed held bytes": blocks_every,
        "blocks saved share": 1 - blocks_every / blocks,
        "segments held bytes": segments,
        "segments saved share": 1 - segments / blocks,
    }


def pairs(layers: int, width: int, batch: int, every: int) -> Pairs:
    """Forward and backward of each, against the same stack without checkpoints."""
    stacks = Stacks(layers, width, batch, every)

    def step(forward: Forward) -> Callable[[], None]:
        return lambda: forward().sum().backward()  # type: ignore[no-untyped-call]

    return {
        "Linear + ReLU": {"plain": step(stacks.forward_plain), "checkpointed": step(stacks.forward_every)},
        "blocks": {
            "plain": step(stacks.forward_blocks),
            "every so many": step(stacks.forward_blocks_every),
            "segments": step(stacks.forward_segments),
        },
    }
