"""What forecasts and searches take from PyTorch under private names (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._functorch._activation_checkpointing import knapsack
from torch._subclasses.fake_tensor import FakeTensorMode

Knapsack = Callable[[list[float], list[float], float], tuple[float, list[int], list[int]]]
"""(memory, runtimes, capacity) -> (runtime saved, items to keep, items to run again); memory as parts of 1."""

AsIfOnDevice = FakeTensorMode
"""Tensors that say they are on a device, take its kernels' path and hold nothing: meta with the device's dispatch."""
dp_knapsack: Knapsack = knapsack.dp_knapsack
greedy_knapsack: Knapsack = knapsack.greedy_knapsack
NORMS: frozenset[Any] = frozenset(
    {
        torch.ops.aten.native_batch_norm.default,
        torch.ops.aten._native_batch_norm_legit.default,
        torch.ops.aten._native_batch_norm_legit.no_stats,
        torch.ops.aten._batch_norm_with_update.default,
        torch.ops.aten.native_group_norm.default,
        torch.ops.aten.native_layer_norm.default,
    }
)
"""Overloads whose results are (normalised, mean, deviation or its reciprocal, ...)."""


def follow_recurrent_weights(module: Any) -> None:
    """Let nn.RNNBase look its weights up again after its parameters were replaced."""
    names: Any = getattr(module, "_flat_weights_names", ())
    if names:
        module._flat_weights = [getattr(module, name) for name in names]


def members_of(module: torch.nn.Module) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of one module itself, to be replaced in place."""
    return module._parameters, module._buffers


@contextmanager
def generator_states(follow: Callable[[torch.Tensor], None]) -> Iterator[None]:
    """Within, `follow` is told of every generator state that a checkpoint takes; no dispatch mode sees those."""
    read = torch.get_rng_state

    def told() -> torch.Tensor:
        state = read()
        follow(state)
        return state

    torch.get_rng_state = told
    try:
        yield
    finally:
        torch.get_rng_state = read
