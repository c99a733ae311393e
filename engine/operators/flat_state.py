"""An optimizer's state for many parameters in one 1-d tensor: less to hand over at every step than a tensor for each.

The elements of the parameters one after another, each parameter's in its own order in memory, or row by row where it
has gaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def new_flat(params: Sequence[Tensor]) -> Tensor:
    """Zeros for all elements of `params`, which have one dtype and one device."""
    return torch.zeros(sum(param.numel() for param in params), dtype=params[0].dtype, device=params[0].device)


def views_of(flat: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """The part of `flat` that belongs to each of `params`, in its shape."""
    found, begin = [], 0
    for param in params:
        found.append(flat.as_strided(param.shape, _strides(param), flat.storage_offset() + begin))
        begin += param.numel()
    return found


def as_list(state: Sequence[Tensor], params: Sequence[Tensor]) -> list[Tensor]:
    """`state` with one tensor for each of `params`, where it may be one flat tensor for all of them."""
    if len(state) == 1 and state[0].dim() == 1 and (len(params) > 1 or params[0].dim() != 1):
        return views_of(state[0], params)
    return list(state)


def _strides(param: Tensor) -> tuple[int, ...]:
    """Of a tensor without gaps its own, as empty_like gives them back, else those of a contiguous one."""
    own = torch.empty_like(param, device="meta").stride()
    return own if own == param.stride() else torch.empty(param.shape, device="meta").stride()
