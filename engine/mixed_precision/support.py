"""Which dtypes autocast takes on a device here, tried forward and backward."""

from __future__ import annotations

import warnings
from functools import cache

import torch

from engine.mixed_precision.recorder import dtype_of
from engine.mixed_precision.results import Support
from engine.pytorch_said import attempt

DTYPES = ("bfloat16", "float16")


@cache
def probe_support(device: str) -> tuple[Support, ...]:
    """One linear layer forward and backward under autocast in each dtype."""
    return tuple(_try(device, dtype) for dtype in DTYPES)


def _try(device: str, dtype: str) -> Support:
    layer, x = torch.nn.Linear(4, 4, device=device), torch.ones(2, 4, device=device)

    def step() -> str:
        with torch.autocast(device, dtype=getattr(torch, dtype)):
            y = layer(x)
        y.float().sum().backward()
        return dtype_of(y)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given, error = attempt(step)
    if error is not None:
        return Support(dtype, False, f"{error.type}: {error.message}")
    if given != dtype:
        told = "; ".join(str(one.message) for one in caught)
        return Support(dtype, False, told or f"a linear layer gave {given}")
    return Support(dtype, True)
