"""A training step of a small classifier, eager and compiled; the first call of the compiled one is its cold start."""

from __future__ import annotations

import os
import shutil

import torch
from torch import nn
from torch.nn import functional

from engine.claims.counting import Pairs, Work

COMPILERS = ("c++", "g++", "clang++")


def unavailable() -> str:
    """Why nothing can be compiled here."""
    if any(map(shutil.which, COMPILERS)):
        return ""
    return f"torch.compile on the CPU needs a C++ compiler, and none of {', '.join(COMPILERS)} is on the path"


def pairs(width: int, batch: int) -> Pairs:
    """Forward, loss, backward and the optimizer; only the model with its loss is compiled."""
    # Inductor compiles in this process, not in a pool of its own that would outlive the call.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    x, y = torch.randn(batch, width), torch.randint(10, (batch,))
    return {
        "training step": {"eager": _step(width, x, y, compiled=False), "compiled": _step(width, x, y, compiled=True)}
    }


def _step(width: int, x: torch.Tensor, y: torch.Tensor, compiled: bool) -> Work:
    model = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, 10))
    optimizer = torch.optim.Adam(model.parameters())

    def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(model(x), y)

    chosen = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def run() -> None:
        optimizer.zero_grad()
        chosen(x, y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return run
