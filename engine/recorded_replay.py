"""Private torch names the replay of backward needs (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

graph_task_id: Callable[[], int] = torch._C._current_graph_task_id
"""Number of the engine run this thread works for, -1 outside; a backward inside a backward has its own."""
below_torch_function: Callable[[], Any] = torch._C.DisableTorchFunction
"""Context in which no `__torch_function__`, of modes or subclasses, is called."""


def has_tensor_hooks(leaf: torch.Tensor) -> bool:
    """Whether `register_hook` was called on this tensor (and not undone)."""
    return bool(leaf._backward_hooks)


def has_post_accumulate_hooks(leaf: torch.Tensor) -> bool:
    """Whether `register_post_accumulate_grad_hook` was called on this leaf (and not undone)."""
    return bool(leaf._post_accumulate_grad_hooks)
