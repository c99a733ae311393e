"""Operands with small whole values, on the CPU or on the meta device, and PyTorch's refusals as plain values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch.nn.functional import mse_loss

from engine.broadcasting.spec import BroadcastSpec, Operand

T = TypeVar("T")
Value = torch.Tensor | bool | int | float | complex

NUMBERS: dict[str, Value] = {"Python bool": True, "Python int": 2, "Python float": 0.5, "Python complex": 1j}


def build_operand(operand: Operand, device: str) -> Value:
    """A tensor of values 1 to 7 (alternating for bool), or the Python number; leaves where the dtype has gradients."""
    if operand.is_number:
        return NUMBERS[operand.dtype]
    dtype: torch.dtype = getattr(torch, operand.dtype)
    if device == "meta":
        return torch.empty(operand.shape, dtype=dtype, device="meta")
    counted = torch.arange(math.prod(operand.shape)).reshape(operand.shape)
    values = counted % 2 == 0 if dtype is torch.bool else (counted % 7 + 1).to(dtype)
    return values.requires_grad_(values.is_floating_point() or values.is_complex())


def apply(operation: str, operands: Sequence[Any]) -> Any:
    """The operation as `BroadcastSpec.expression` writes it; more than two operands from the left."""
    if operation == "where":
        return torch.where(*operands)
    if operation == "mse_loss":
        return mse_loss(operands[0], operands[1], reduction="none")
    result = operands[0]
    for operand in operands[1:]:
        result = _APPLIED[operation](result, operand)
    return result


_APPLIED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "matmul": lambda left, right: left @ right,
}


def listen(call: Callable[[], T]) -> tuple[T, tuple[str, ...]]:
    """What the call gives, and the warnings PyTorch voiced meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught))


def stand_ins(spec: BroadcastSpec) -> list[Value]:
    """The operands' shapes over one element each: what the CPU says of shapes, at no cost."""
    return [
        NUMBERS[operand.dtype]
        if operand.is_number
        else torch.zeros((), dtype=getattr(torch, operand.dtype)).expand(operand.shape)
        for operand in spec.operands
    ]
