"""sgd_step_: one step of SGD over lists of tensors, in place and in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.operators.checks import expect, expect_lists, expect_within
from engine.operators.flat_state import as_list
from engine.operators.registration import Operator, nothing, register, told_to_autograd


def sgd_step_(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor] = (),
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """What torch.optim.SGD does to `params` and `momentum_buffers`, entry i of each list belonging together.

    Buffers are needed when momentum is not 0; with `first` their content is not read. Any strides, float32, float64,
    bfloat16 and float16, mixed as you like. The buffers may also be one 1-d tensor for parameters of one dtype, laid
    out as `engine.operators.flat_state` says. RuntimeError for lists that do not match or share memory.
    """
    if all(
        isinstance(tensors, list | tuple) and not tensors for tensors in (params, grads)
    ):  # no tensor, no device to choose by
        return
    with torch.no_grad():
        _sgd_step_(
            params,
            grads,
            momentum_buffers,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            first=first,
        )
    told_to_autograd(params, momentum_buffers)


def _check(
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffers: list[Tensor],
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    op = "sgd_step_"
    expect_within(op, lr=lr, momentum=momentum, weight_decay=weight_decay)
    expect(math.isfinite(dampening), f"{op}: expected a finite dampening; received {dampening:g}")
    wanted = f"{op}: expected momentum above 0 and dampening 0 with nesterov"
    received = f"received momentum {momentum:g}, dampening {dampening:g}"
    expect(not nesterov or (momentum > 0 and dampening == 0), f"{wanted}; {received}")
    wanted = f"{op}: expected no momentum_buffers without momentum"
    expect(momentum or not momentum_buffers, f"{wanted}; received {len(momentum_buffers)}")
    buffers = {"momentum_buffers": momentum_buffers} if momentum else {}
    expect_lists(op, params, grads, **buffers)


def _reference(
    params: list[Tensor],
    grads: list[Tensor],
    momentum_buffers: list[Tensor],
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    with torch.no_grad():
        momentum_buffers = as_list(momentum_buffers, params)
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            direction = (-grad if maximize else grad) + (weight_decay * param if weight_decay else 0)
            if momentum:
                buffer = momentum_buffers[i]
                buffer.copy_(direction if first else momentum * buffer + (1 - dampening) * direction)
                direction = direction + momentum * buffer if nesterov else buffer
            param.sub_(lr * direction)


_sgd_step_ = register(Operator(name="sgd_step_", reference=_reference, fake=nothing, check=_check))
