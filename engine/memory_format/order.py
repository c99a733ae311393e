"""Formats and orders of tensors: what their strides say."""

from __future__ import annotations

import torch

from engine.memory_format.spec import Format, Order, dims_of


def format_of(tensor: torch.Tensor) -> Format:
    """As `is_contiguous` answers for both formats; an expanded dimension (stride 0) is neither."""
    if tensor.dim() != 4:
        return "not_4d"
    contiguous = tensor.is_contiguous()
    channels_last = tensor.is_contiguous(memory_format=torch.channels_last)
    if contiguous:
        return "both" if channels_last else "contiguous"
    return "channels_last" if channels_last else "other"


def own_order(format_: Format) -> Order:
    """The order of an image whose dimensions are (N, C, H, W)."""
    return "" if format_ in ("both", "not_4d") else format_  # type: ignore[return-value]


def dims_by_stride(tensor: torch.Tensor) -> tuple[int, ...]:
    """Dimensions larger than 1 from the outermost in memory to the innermost."""
    return dims_of(tuple(tensor.shape), tensor.stride())


def is_row_major(tensor: torch.Tensor) -> bool:
    """Whether strides never grow from one dimension to the next."""
    dims = dims_by_stride(tensor)
    return dims == tuple(sorted(dims))


def is_expanded(tensor: torch.Tensor) -> bool:
    """Whether several elements are the same memory."""
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def order_through_names(source: torch.Tensor, order: Order, target: torch.Tensor) -> Order | None:
    """Order in which new memory of the same shape holds the image that `source` is a permuted view of.

    The order known of the source's storage names its dimensions: in `contiguous` memory they follow as N, C, H, W.
    None where that cannot be told: another shape, a size of 1, an order that is neither.
    """
    names = _NAMES.get(order)
    memory = dims_by_stride(source)
    if names is None or source.shape != target.shape or len(memory) != 4 or target.dim() != 4:
        return None
    named = dict(zip(memory, names, strict=True))
    return _ORDERS.get("".join(named[dim] for dim in dims_by_stride(target)), "other")


_NAMES: dict[Order, str] = {"contiguous": "NCHW", "channels_last": "NHWC"}
_ORDERS: dict[str, Order] = {names: order for order, names in _NAMES.items()}


def hands_order_on(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether new memory lies in the order its source lies in, where dimensions have no names to go by.

    True for the same shape with the same order of dimensions, and for row-major results of row-major sources where
    only the last dimension changed, as nn.Linear over channels makes them.
    """
    if source.shape == target.shape:
        return dims_by_stride(source) == dims_by_stride(target)
    if source.dim() != target.dim() or source.dim() < 2 or source.shape[:-1] != target.shape[:-1]:
        return False
    return is_row_major(source) and is_row_major(target)
