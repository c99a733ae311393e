"""Shapes as plain ints, also of tensors that have none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def shape_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Shape as plain ints; None for a nested or symbolic tensor that has none."""
    try:
        return plain_shape(tensor.shape)
    except (RuntimeError, NotImplementedError):
        return None


def plain_shape(shape: Iterable[Any]) -> tuple[int, ...] | None:
    """Sizes as plain ints; None when one of them is symbolic or ragged."""
    try:
        return tuple([int(size) for size in shape])
    except (RuntimeError, NotImplementedError, TypeError, AttributeError):
        return None
