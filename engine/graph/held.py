"""Bytes that a forward's saved tensors hold, seen by outer hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from engine import recorded


def measure_held_bytes(forward: Callable[[], Any]) -> int:
    """Run `forward` under `saved_tensors_hooks` and sum the storages it saves, each once.

    Non-reentrant checkpoints put their own hooks inside, so what they drop is not counted and the inputs they keep are.
    """
    held: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        for storage, size in recorded.storages_of(tensor):
            held[storage] = size
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = forward()
    del outputs
    return sum(held.values())
