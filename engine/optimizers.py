"""Optimizers made by name (engine/optimizer_names.py)."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from engine.optimizer_names import ARGUMENTS, OptimizerName


def make_optimizer(name: OptimizerName, parameters: Iterable[torch.Tensor], lr: float) -> torch.optim.Optimizer:
    """The real `torch.optim` class over the parameters that require a gradient; what it raises passes through."""
    kind, arguments = ARGUMENTS[name]
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    optimizer: torch.optim.Optimizer = getattr(torch.optim, kind)(trained, lr=lr, **arguments)
    return optimizer
