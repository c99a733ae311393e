"""A convolution on contiguous and on channels_last images, forward and with backward."""

from __future__ import annotations

import torch
from torch import nn

from engine.claims.counting import Calls, Pairs, Work


def pairs(batch: int, channels: int, size: int) -> Pairs:
    """Input and weight in the same format; gradients for both."""
    plain, last = (_images(batch, channels, size, memory_format) for memory_format in FORMATS)
    return {
        "forward": {"contiguous": _forward(*plain), "channels_last": _forward(*last)},
        "forward and backward": {"contiguous": _step(*plain), "channels_last": _step(*last)},
    }


def calls(batch: int, channels: int, size: int) -> Calls:
    """The article asks for channels_last on a tensor of three dimensions."""
    return {
        "torch.randn(3, 4, 5).to(memory_format=torch.channels_last)": lambda: torch.randn(3, 4, 5).to(
            memory_format=torch.channels_last
        ),
        "the same with four dimensions": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    }


FORMATS = (torch.contiguous_format, torch.channels_last)


def _images(batch: int, channels: int, size: int, memory_format: torch.memory_format) -> tuple[nn.Module, torch.Tensor]:
    model = nn.Conv2d(channels, channels, 3, padding=1).to(memory_format=memory_format)  # type: ignore[call-overload]
    return model, torch.randn(batch, channels, size, size).to(memory_format=memory_format).requires_grad_()


def _forward(model: nn.Module, x: torch.Tensor) -> Work:
    def run() -> None:
        with torch.no_grad():
            model(x)

    return run


def _step(model: nn.Module, x: torch.Tensor) -> Work:
    gradient = model(x).detach().clone()
    return lambda: model(x).backward(gradient)
