"""One step of AdamW over a list of parameters, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from engine import operators
from engine.operators import optimizers

Tensors = list[Tensor]


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensors, Tensors]:
    return [torch.randn(columns, dtype=dtype) for _ in range(rows)], [
        torch.randn(columns, dtype=dtype) for _ in range(rows)
    ]


def _step_of(
    params: Tensors, grads: Tensors, made: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW, **options: Any
) -> Callable[[], Any]:
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    return made(params, **options).step


def composed(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=False)


def foreach(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=True)


def built_in(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, fused=True)


def function(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    """The fused one without the optimizer around it."""
    exp_avgs, exp_avg_sqs = ([torch.zeros_like(param) for param in params] for _ in range(2))
    steps = [torch.zeros(()) for _ in params]
    options: dict[str, Any] = {"beta1": 0.9, "beta2": 0.999, "lr": 1e-3, "weight_decay": 1e-2, "eps": 1e-8}

    def step() -> None:
        adamw(params, grads, exp_avgs, exp_avg_sqs, [], steps, fused=True, amsgrad=False, maximize=False, **options)

    return step


def atlas(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    exp_avgs, exp_avg_sqs = ([torch.zeros_like(param) for param in params] for _ in range(2))
    steps = [0]

    def step() -> None:
        steps[0] += 1
        operators.adamw_step_(params, grads, exp_avgs, exp_avg_sqs, step=steps[0])

    return step


def optimizer(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, optimizers.AdamW)
