"""adamw_step_: one step of AdamW over lists of tensors, in place and in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.operators.checks import expect, expect_lists, expect_within
from engine.operators.flat_state import as_list
from engine.operators.registration import Operator, nothing, register, told_to_autograd


def adamw_step_(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor] = (),
    *,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    maximize: bool = False,
) -> None:
    """What torch.optim.AdamW does to `params` and its averages in step number `step`, counted from 1.

    Entry i of each list belongs together; `max_exp_avg_sqs` makes it amsgrad. Any strides, float32, float64, bfloat16
    and float16, mixed as you like. Each list of averages may also be one 1-d tensor for parameters of one dtype, laid
    out as `engine.operators.flat_state` says. RuntimeError for lists that do not match or share memory.
    """
    if all(
        isinstance(tensors, list | tuple) and not tensors for tensors in (params, grads)
    ):  # no tensor, no device to choose by
        return
    with torch.no_grad():
        _adamw_step_(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            max_exp_avg_sqs,
            step=step,
            lr=lr,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            weight_decay=weight_decay,
            maximize=maximize,
        )
    told_to_autograd(params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs)


def _check(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    *,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    maximize: bool = False,
) -> None:
    op = "adamw_step_"
    expect(step >= 1, f"{op}: expected step of 1 or more; received {step}")
    expect_within(op, lr=lr)
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        expect(0 <= beta < 1, f"{op}: expected {name} from 0 to below 1; received {beta:g}")
    expect_within(op, eps=eps, weight_decay=weight_decay)
    largest = {"max_exp_avg_sqs": max_exp_avg_sqs} if max_exp_avg_sqs else {}
    expect_lists(op, params, grads, exp_avgs=exp_avgs, exp_avg_sqs=exp_avg_sqs, **largest)


def _reference(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    *,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    maximize: bool = False,
) -> None:
    step_size, correction = lr / (1 - beta1**step), (1 - beta2**step) ** 0.5
    with torch.no_grad():
        exp_avgs, exp_avg_sqs, max_exp_avg_sqs = (
            as_list(state, params) for state in (exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
        )
        for i, (param, exp_avg, exp_avg_sq) in enumerate(zip(params, exp_avgs, exp_avg_sqs, strict=True)):
            grad = -grads[i] if maximize else grads[i]
            exp_avg.lerp_(grad, 1 - beta1)
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            square = exp_avg_sq
            if max_exp_avg_sqs:
                square = max_exp_avg_sqs[i].copy_(torch.maximum(max_exp_avg_sqs[i], exp_avg_sq))
            param.mul_(1 - lr * weight_decay)
            param.addcdiv_(exp_avg, square.sqrt() / correction + eps, value=-step_size)


_adamw_step_ = register(Operator(name="adamw_step_", reference=_reference, fake=nothing, check=_check))
