"""The block stack of GPT-2 (Radford et al. 2019), pre-norm, with learned positions."""

import math
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import skip_init


class SelfAttention(nn.Module):
    """Causal multi-head self-attention, by scaled_dot_product_attention or written out."""

    def __init__(self, width: int, heads: int, dropout: float, attention: str) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.residual_dropout = nn.Dropout(dropout)
        self.heads = heads
        self.dropout = dropout
        self.attention = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, width = x.shape
        split = self.query_key_value(x).view(batch, steps, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # (N, T, 3, heads, d) -> 3 x (N, heads, T, d)
        dropout = self.dropout if self.training else 0.0
        if self.attention == "sdpa":
            mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        else:
            mixed = self.explicit(query, key, value, dropout)
        merged = mixed.transpose(1, 2).reshape(batch, steps, width)  # (N, heads, T, d) -> (N, T, width)
        out: torch.Tensor = self.residual_dropout(self.project(merged))
        return out

    def explicit(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float) -> torch.Tensor:
        """softmax(Q K^T / sqrt(d)) V with the T x T scores in the open."""
        steps, features = query.shape[-2:]
        scores = query @ key.transpose(-2, -1) / math.sqrt(features)  # (N, heads, T, T)
        future = torch.ones(steps, steps, dtype=torch.bool, device=query.device).triu(diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        mixed: torch.Tensor = F.dropout(weights, dropout) @ value  # (N, heads, T, T) @ (N, heads, T, d)
        return mixed


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, width: int, heads: int, dropout: float, attention: str) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout, attention)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))  # (N, T, width)
        out: torch.Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Gpt(nn.Module):
    """Token and position embeddings, the blocks, a final norm and a head that may share the token table."""

    def __init__(
        self,
        layers: int,
        heads: int,
        width: int,
        sequence: int,
        vocabulary: int,
        dropout: float,
        attention: str,
        tie_weights: bool,
    ) -> None:
        super().__init__()
        undrawn: Any = partial(skip_init, device=torch.get_default_device())  # drawn once, below
        self.tokens = undrawn(nn.Embedding, vocabulary, width)
        self.positions = undrawn(nn.Embedding, sequence, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout, attention) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = undrawn(nn.Linear, width, vocabulary, bias=False)
        if tie_weights:
            self.head.weight = self.tokens.weight
        for table in (self.tokens, self.positions) if tie_weights else (self.tokens, self.positions, self.head):
            nn.init.normal_(table.weight, std=0.02)  # GPT-2's scale; torch's default of 1 saturates the softmax
        self.sequence = sequence

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.dropout(self.tokens(ids) + self.positions(positions))  # (N, T) -> (N, T, width)
        logits: torch.Tensor = self.head(self.norm(self.run_blocks(x)))  # -> (N, T, vocabulary)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"ids": torch.randint(self.tokens.num_embeddings, (batch, self.sequence))}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.tokens.num_embeddings, (batch, self.sequence))
