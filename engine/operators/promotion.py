"""Mixed dtypes under autocast: an operator takes the widest of them, as PyTorch's own arithmetic does."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from engine.operators.load import NAMESPACE

_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]


def promote_under_autocast(name: str) -> None:
    """Give `atlas::<name>` an autocast rule: every floating tensor in the widest dtype among them.

    A linear layer hands on bfloat16, its bias and a residual stream may still be float32: their sum is float32, and no
    digit of the residual is lost. Outside of autocast mixed dtypes stay an error.
    """
    for device in ("cpu", "cuda"):
        key = f"Autocast{device.upper()}"
        _LIBRARY.impl(name, _promoted(name, device), key)  # type: ignore[no-untyped-call]


def _promoted(name: str, device: str) -> Callable[..., Any]:
    def rule(*args: Any) -> Any:
        dtypes = [value.dtype for value in args if _is_floating(value)]
        widest = reduce(torch.promote_types, dtypes)
        with torch.autocast(device, enabled=False):
            operator = getattr(getattr(torch.ops, NAMESPACE), name)
            return operator(*(value.to(widest) if _is_floating(value) else value for value in args))

    return rule


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()
