"""One step of SGD with momentum over a list of parameters, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from engine import operators
from engine.operators import optimizers

Tensors = list[Tensor]


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensors, Tensors]:
    return [torch.randn(columns, dtype=dtype) for _ in range(rows)], [
        torch.randn(columns, dtype=dtype) for _ in range(rows)
    ]


def _step_of(
    params: Tensors, grads: Tensors, made: Callable[..., torch.optim.Optimizer] = torch.optim.SGD, **options: Any
) -> Callable[[], Any]:
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    return made(params, lr=1e-2, momentum=0.9, **options).step


def composed(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=False)


def foreach(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=True)


def built_in(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, fused=True)


def function(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    """The foreach one without the optimizer around it."""
    buffers: list[Tensor | None] = [None] * len(params)
    options: dict[str, Any] = {"lr": 1e-2, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}

    def step() -> None:
        sgd(params, grads, buffers, foreach=True, maximize=False, **options)

    return step


def atlas(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    buffers = [torch.zeros_like(param) for param in params]

    def step() -> None:
        operators.sgd_step_(params, grads, buffers, lr=1e-2, momentum=0.9)

    return step


def optimizer(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, optimizers.SGD)
