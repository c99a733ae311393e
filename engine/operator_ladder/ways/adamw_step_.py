"""One step of AdamW over a list of parameters, in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine import operators

Tensors = list[Tensor]


def inputs(rows: int, columns: int, inner: int, dtype: torch.dtype) -> tuple[Tensors, Tensors]:
    return [torch.randn(columns, dtype=dtype) for _ in range(rows)], [
        torch.randn(columns, dtype=dtype) for _ in range(rows)
    ]


def _step_of(params: Tensors, grads: Tensors, **options: Any) -> Callable[[], Any]:
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    return torch.optim.AdamW(params, **options).step


def composed(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=False)


def foreach(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, foreach=True)


def built_in(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    return _step_of(params, grads, fused=True)


def atlas(params: Tensors, grads: Tensors) -> Callable[[], Any]:
    exp_avgs, exp_avg_sqs = ([torch.zeros_like(param) for param in params] for _ in range(2))
    steps = [0]

    def step() -> None:
        steps[0] += 1
        operators.adamw_step_(params, grads, exp_avgs, exp_avg_sqs, step=steps[0])

    return step
