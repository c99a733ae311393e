"""Every named tensor as plain values, read without changing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from engine import recorded
from engine.in_place.ledger import Ledger
from engine.in_place.results import State
from engine.runner.contract import Array
from engine.runner.faults import error_text
from engine.summarise import array_of

FEW_VALUES = 64
"""Of larger tensors no values travel."""
UNNAMED = "a tensor without a name"


def snapshot(names: Mapping[str, Any], ledger: Ledger) -> tuple[State, ...]:
    """The state of every name that holds a tensor, in order of creation."""
    tensors = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
    return tuple(_state(name, tensor, tensors, ledger) for name, tensor in tensors.items())


def _state(name: str, tensor: torch.Tensor, named: Mapping[str, torch.Tensor], ledger: Ledger) -> State:
    counter = ledger.counter(tensor, name)
    grad_fn, unavailable = _grad_fn(tensor)
    is_leaf = None if unavailable else tensor.is_leaf
    grad = tensor.grad if is_leaf or (is_leaf is False and tensor.retains_grad) else None
    return State(
        name=name,
        storage=ledger.storage(tensor, name),
        counter=counter,
        version=recorded.version_of(tensor),
        offset_bytes=int(tensor.storage_offset()) * tensor.element_size(),
        is_leaf=is_leaf,
        requires_grad=bool(unavailable) or tensor.requires_grad,
        grad_fn=grad_fn,
        unavailable=unavailable,
        is_view=recorded.is_view(tensor),
        base=_base(tensor, named),
        shape=tuple(tensor.shape),
        dtype=str(tensor.dtype).removeprefix("torch."),
        values=few_values(tensor),
        grad=None if grad is None else few_values(grad),
        has_grad=grad is not None,
        retains_grad=is_leaf is False and tensor.retains_grad,
        is_inference=tensor.is_inference(),
    )


def few_values(tensor: torch.Tensor) -> Array | None:
    """All values of a small tensor."""
    return array_of(tensor) if tensor.numel() <= FEW_VALUES else None


def _grad_fn(tensor: torch.Tensor) -> tuple[str, str]:
    """(name, "") or ("", PyTorch's refusal): a view of several whose base was written has none that can be read."""
    try:
        node = tensor.grad_fn
    except RuntimeError as error:
        return "", error_text(error)
    return "" if node is None else node.name(), ""


def _base(tensor: torch.Tensor, named: Mapping[str, torch.Tensor]) -> str:
    if not recorded.is_view(tensor):
        return ""
    base = recorded.view_base(tensor)
    return next((name for name, one in named.items() if one is base), UNNAMED)
