"""A training step in float32 and under bfloat16 autocast: time, bytes held, and how far the results are apart."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from engine.claims.counting import Pairs, Work, held_bytes


def counts(width: int, batch: int, small_width: int, layers: int) -> dict[str, float]:
    """Bytes held for backward with and without autocast, parameters left out, and the change of the output."""
    found: dict[str, float] = {}
    for name, size in (("wide", width), ("small", small_width)):
        model, x = _model(size, layers), torch.randn(batch, size)
        plain, cast = held_bytes(partial(model, x), model), held_bytes(partial(_cast, model, x), model)
        found |= {f"{name} held bytes": plain, f"{name} held bytes under autocast": cast}
        found[f"{name} saved share"] = 1 - cast / plain
    found["relative change of the output"] = ((model(x) - _cast(model, x)).norm() / model(x).norm()).item()
    return found


def pairs(width: int, batch: int, small_width: int, layers: int) -> Pairs:
    """A step of forward, backward and Adam, at both widths."""
    return {
        name: {
            "float32": _step(_model(size, layers), torch.randn(batch, size), autocast=False),
            "autocast": _step(_model(size, layers), torch.randn(batch, size), autocast=True),
        }
        for name, size in (("wide", width), ("small", small_width))
    }


def _model(width: int, layers: int) -> nn.Sequential:
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())])


def _cast(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    # Inside another autocast context cached casts of the weights would outlive the step; each is cast once anyway.
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        result: torch.Tensor = model(x)
        return result


def _step(model: nn.Module, x: torch.Tensor, autocast: bool) -> Work:
    optimizer = torch.optim.Adam(model.parameters())

    def run() -> None:
        optimizer.zero_grad()
        result = _cast(model, x) if autocast else model(x)
        result.float().square().mean().backward()
        optimizer.step()

    return run
