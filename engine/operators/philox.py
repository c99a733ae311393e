"""Philox4x32-10 in PyTorch's own operations: the mask of csrc/math/philox.h, word for word.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import torch
from torch import Tensor

WORD = 0xFFFFFFFF
_MULTIPLIERS, _STEPS, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
_LANES, _BLOCK = 16, 64
"""Element i takes word (i / 16) % 4 of counter 16 (i / 64) + i % 16."""


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], key: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """The four random words of every counter; words are int64 tensors from 0 to 2^32 - 1."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(_ROUNDS):
        first, second = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2  # int64 wraps; the 64 bits are those of uint64
        c0, c1, c2, c3 = _high(second) ^ c1 ^ k0, second & WORD, _high(first) ^ c3 ^ k1, first & WORD
        k0, k1 = (k0 + _STEPS[0]) & WORD, (k1 + _STEPS[1]) & WORD
    return c0, c1, c2, c3


def _high(product: Tensor) -> Tensor:
    return (product >> 32) & WORD


def random_words(count: int, seed: Tensor) -> Tensor:
    """One word for each of the elements 0 to count - 1, int64 from 0 to 2^32 - 1."""
    blocks = (count + _BLOCK - 1) // _BLOCK
    counters = torch.arange(blocks * _LANES, device=seed.device)
    zero = torch.zeros_like(counters)
    key = seed.reshape(()) & WORD, _high(seed.reshape(()))
    words = philox((counters & WORD, _high(counters), zero, zero), key)
    return torch.stack([word.view(blocks, _LANES) for word in words], 1).flatten()[:count]


def dropout_scales(x: Tensor, p: float, seed: Tensor) -> Tensor:
    """1 / (1 - p) where an element of x is kept, else 0, of x's shape and dtype."""
    threshold = min(int(p * (WORD + 1) + 0.5), WORD)
    kept = random_words(x.numel(), seed).view(x.shape) >= threshold
    return kept.to(x.dtype) * (1 / (1 - p) if p < 1 else 0.0)
