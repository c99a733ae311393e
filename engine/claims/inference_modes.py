"""Forward with gradients recorded, under no_grad, and under inference_mode, of tiny and of wide layers."""

from __future__ import annotations

import torch
from torch import nn

from engine.claims.counting import Pairs, Work, held_bytes


def counts(tiny: int, wide: int, layers: int, batch: int) -> dict[str, float]:
    """Bytes that the forward of the wide model holds for a backward, with gradients and without."""
    model, x = _model(wide, layers), torch.randn(batch, wide)
    return {
        "held bytes with gradients": held_bytes(lambda: model(x), model),
        "held bytes in inference_mode": held_bytes(lambda: _inferred(model, x), model),
    }


def pairs(tiny: int, wide: int, layers: int, batch: int) -> Pairs:
    """The three modes at both widths; the tiny model gets a batch of one."""
    return {
        "tiny": _modes(_model(tiny, layers), torch.randn(1, tiny)),
        "wide": _modes(_model(wide, layers), torch.randn(batch, wide)),
    }


def _model(width: int, layers: int) -> nn.Sequential:
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())])


def _inferred(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        result: torch.Tensor = model(x)
        return result


def _without_gradients(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model(x)
        return result


def _modes(model: nn.Module, x: torch.Tensor) -> dict[str, Work]:
    return {
        "gradients recorded": lambda: model(x),
        "no_grad": lambda: _without_gradients(model, x),
        "inference_mode": lambda: _inferred(model, x),
    }
