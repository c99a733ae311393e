"""Private names that the diagnostics read: hooks of modules and leaves, schemas of operators (torch 2.11-2.14)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules import batchnorm

NormWithStatistics = batchnorm._NormBase
"""What BatchNorm and InstanceNorm have in common: running statistics."""

MODULE_HOOKS: tuple[tuple[str, str], ...] = (
    ("_forward_pre_hooks", "forward pre-hook"),
    ("_forward_hooks", "forward hook"),
    ("_backward_pre_hooks", "full backward pre-hook"),
    ("_backward_hooks", "full backward hook"),
    ("_state_dict_pre_hooks", "state_dict pre-hook"),
    ("_load_state_dict_pre_hooks", "load_state_dict pre-hook"),
)


def hooks_of_module(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """(kind, function) of every hook registered on a module."""
    for attribute, kind in MODULE_HOOKS:
        for hook in (getattr(module, attribute, None) or {}).values():
            yield kind, hook


def hooks_of_tensor(tensor: torch.Tensor) -> Iterator[tuple[str, Any]]:
    """(kind, function) of every hook registered on a tensor."""
    for hook in (tensor._backward_hooks or {}).values():
        yield "tensor hook", hook
    if tensor.is_leaf:
        for hook in (tensor._post_accumulate_grad_hooks or {}).values():
            yield "post-accumulate hook", hook


def saved_tensor_hook(slot: Any) -> Any | None:
    """The function that unpacks a raw saved slot; None where the tensor itself is kept."""
    return slot.unpack_hook


def argument_names(operator: Any) -> tuple[str, ...]:
    """Names of an aten operator's arguments in order."""
    return tuple(argument.name for argument in operator._schema.arguments)


def saved_value(node: Any, name: str) -> Any | None:
    """What a node saved under `name`; None where it saved nothing so called. Runs a saved-tensor hook on it."""
    return getattr(node, f"_saved_{name}", None)
