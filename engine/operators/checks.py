"""What operators expect of their arguments, in the words of the compiled ones (csrc/arguments.cpp, csrc/checks).

Run where nothing compiled looks: for tensors without data, and where the operators are PyTorch's own operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

FLOATING = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def expect(holds: Any, text: str) -> None:
    """RuntimeError, as from the compiled operators, with "<operator>: expected <what>; received <what>"."""
    if not holds:
        raise RuntimeError(text)


def dtype_text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def shape_text(x: Tensor) -> str:
    return str(tuple(x.shape))


def expect_floating(op: str, name: str, x: Tensor) -> None:
    wanted = f"{op}: expected {name} of dtype float32, float64, bfloat16 or float16"
    expect(x.dtype in FLOATING, f"{wanted}; received {dtype_text(x.dtype)}")


def expect_device(op: str, name: str, x: Tensor, other: str, y: Tensor) -> None:
    wanted = f"{op}: expected {other} on the device of {name}, {x.device}"
    expect(x.device == y.device, f"{wanted}; received {y.device}")


def expect_dtype(op: str, name: str, x: Tensor, other: str, y: Tensor) -> None:
    wanted = f"{op}: expected {other} of the dtype of {name}, {dtype_text(x.dtype)}"
    expect(x.dtype == y.dtype, f"{wanted}; received {dtype_text(y.dtype)}")


def expect_shape(op: str, name: str, x: Tensor, other: str, y: Tensor) -> None:
    wanted = f"{op}: expected {other} of the shape of {name}, {shape_text(x)}"
    expect(x.shape == y.shape, f"{wanted}; received {shape_text(y)}")


def expect_like(op: str, name: str, x: Tensor, other: str, y: Tensor) -> None:
    """Of one device, dtype and shape."""
    expect_device(op, name, x, other, y)
    expect_dtype(op, name, x, other, y)
    expect_shape(op, name, x, other, y)


def expect_vector(op: str, name: str, x: Tensor, other: str, y: Tensor, count: Any, why: str = "") -> None:
    """`y` beside `x`, of its dtype and of shape (count,)."""
    expect_device(op, name, x, other, y)
    expect_dtype(op, name, x, other, y)
    wanted = f"{op}: expected {other} of shape ({count},){why and ',' + why}"
    expect(y.dim() == 1 and y.shape[0] == count, f"{wanted}; received {shape_text(y)}")


def expect_within(op: str, **values: float) -> None:
    """Finite and not negative."""
    for name, value in values.items():
        expect(0 <= value < math.inf, f"{op}: expected {name} of 0 or more; received {value:g}")


def expect_lists(op: str, params: Sequence[Tensor], grads: Sequence[Tensor], **states: Sequence[Tensor]) -> None:
    """Entry i of each list is like entry i of `params`; a state may also be one 1-d tensor of all their elements."""
    flat = {name: tensors[0] for name, tensors in states.items() if _is_flat(tensors, params)}
    lists = {"grads": grads} | {name: tensors for name, tensors in states.items() if name not in flat}
    for name, tensors in lists.items():
        wanted = f"{op}: expected as many {name} as params, {len(params)}"
        expect(len(tensors) == len(params), f"{wanted}; received {len(tensors)}")
    for i, param in enumerate(params):
        expect_floating(op, "params", param)
        expect_device(op, "params[0]", params[0], f"params[{i}]", param)
        for name, tensors in lists.items():
            expect_device(op, f"params[{i}]", param, f"{name}[{i}]", tensors[i])
            expect_floating(op, f"{name}[{i}]", tensors[i])
            expect_dtype(op, f"params[{i}]", param, f"{name}[{i}]", tensors[i])
            expect_shape(op, f"params[{i}]", param, f"{name}[{i}]", tensors[i])
    for name, state in flat.items():
        _expect_flat(op, params, name, state)


def _is_flat(tensors: Sequence[Tensor], params: Sequence[Tensor]) -> bool:
    return len(tensors) == 1 and tensors[0].dim() == 1 and (len(params) > 1 or bool(params and params[0].dim() != 1))


def _expect_flat(op: str, params: Sequence[Tensor], name: str, flat: Tensor) -> None:
    for i, param in enumerate(params):
        expect_device(op, f"params[{i}]", param, name, flat)
        expect_dtype(op, f"params[{i}]", param, name, flat)
    total = sum(param.numel() for param in params)
    wanted = f"{op}: expected as many {name} as params, or one 1-d tensor of all their elements, {total}"
    expect(flat.numel() == total, f"{wanted}; received one of {flat.numel()}")
