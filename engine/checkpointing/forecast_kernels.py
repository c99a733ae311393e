"""What CPU kernels do that tensors that hold nothing do not tell: working space (estimated), types of statistics."""

from __future__ import annotations

from typing import Any

import torch

from engine import recorded_search

LANES = 16


def with_real_statistics(func: Any, args: Any, out: Any) -> Any:
    """The results of a norm with mean and deviation in the type that CPU kernels keep them in.

    Under autocast the input is half as wide as the weight: then they are float32, but those of tensors that hold
    nothing have the type of the input.
    """
    if func not in recorded_search.NORMS or args[0].device.type != "cpu":
        return out
    width = args[0].element_size()
    if not any(isinstance(one, torch.Tensor) and one.element_size() > width for one in args[1:]):
        return out
    return out[0], *(x.to(torch.float32) if x.is_floating_point() and x.dtype != torch.float32 else x for x in out[1:])


def working_bytes(func: Any, args: Any, out: Any) -> int:
    """Bytes an operation gives back before it returns; 0 for the many that need none."""
    if func is torch.ops.aten.convolution_backward.default:
        return _convolution_backward(*args[:3])
    return 0


def _convolution_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> int:
    """oneDNN's gradient of the weight before it is put in PyTorch's order, and a gradient that had to be packed.

    It works on sixteen channels at a time: of any other number it makes padded copies.
    """
    packed = 0 if grad.is_contiguous() else grad.nbytes
    channels = grad.shape[1]
    if channels % LANES:
        padded = -(-channels // LANES) * LANES / channels
        packed += int(grad.nbytes * padded + weight.nbytes * padded * padded)
    return weight.nbytes + packed
