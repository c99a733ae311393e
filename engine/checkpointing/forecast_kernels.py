"""What CPU kernels take for themselves while they run: no tensor says so, so these are estimates."""

from __future__ import annotations

from typing import Any

import torch

LANES = 16


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
