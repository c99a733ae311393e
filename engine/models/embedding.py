"""Embedding lookup with repeated indices."""

import torch
from torch import nn


class Embedding(nn.Module):
    """Look up, average over the tokens, then a linear head; the table's gradient is dense or sparse."""

    def __init__(self, vocabulary: int, width: int, tokens: int, sparse: bool, classes: int = 10) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width, sparse=sparse)
        self.head = nn.Linear(width, classes)
        self.tokens = tokens

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.table(ids)  # (N, T) -> (N, T, width)
        logits: torch.Tensor = self.head(vectors.mean(dim=1))  # -> (N, width) -> (N, classes)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        # Drawn from at most half as many rows as there are tokens, so some row is looked up twice.
        rows = min(self.table.num_embeddings, max(1, self.tokens // 2))
        return {"ids": torch.randint(rows, (batch, self.tokens))}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.head.out_features, (batch,))
