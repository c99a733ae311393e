"""The same operations on a matrix and on a transposed one of the same values."""

from __future__ import annotations

import torch

from engine.claims.counting import Pairs


def pairs(size: int) -> Pairs:
    """Each operation on a contiguous and on a transposed operand; `out` laid out alike where that is the point."""
    plain, other = torch.randn(size, size), torch.randn(size, size)
    turned, out = torch.randn(size, size).t(), torch.empty(size, size)
    turned_out = torch.empty(size, size).t()
    return {
        "relu, output laid out like the operand": {
            "contiguous": lambda: torch.clamp_min(plain, 0, out=out),
            "transposed": lambda: torch.clamp_min(turned, 0, out=turned_out),
        },
        "matrix product": {"contiguous": lambda: plain @ other, "transposed": lambda: turned @ other},
        "sum of each row": {"contiguous": lambda: plain.sum(1), "transposed": lambda: turned.sum(1)},
        "softmax of each row": {"contiguous": lambda: plain.softmax(1), "transposed": lambda: turned.softmax(1)},
        "sum of two matrices": {
            "contiguous": lambda: torch.add(plain, other, out=out),
            "transposed": lambda: torch.add(turned, other, out=out),
        },
    }
