"""Programs whose gradients are zero, cleared or refused, and those that register hooks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def dead_relu() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].bias.fill_(-10.0)  # type: ignore[operator]
    x = torch.rand(16, 4)
    loss = model(x).pow(2).sum()
    return locals()


def dead_relu_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].bias.fill_(-10.0)  # type: ignore[operator]
    x = torch.rand(16, 4)
    loss = model(x).pow(2).sum()
    return locals()


def saturated_sigmoid() -> dict[str, Any]:
    w = torch.tensor([200.0, -200.0], requires_grad=True)
    y = torch.sigmoid(w)
    loss = (y - 0.5).pow(2).sum()
    return locals()


def saturated_sigmoid_fixed() -> dict[str, Any]:
    w = torch.tensor([200.0, -200.0], requires_grad=True)
    target = torch.tensor([0.5, 0.5])
    loss = nn.functional.binary_cross_entropy_with_logits(w, target)
    return locals()


def multiplied_by_zero() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    gate = torch.zeros(2, requires_grad=True)
    loss = (w * gate).sum()
    return locals()


def multiplied_by_zero_fixed() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    gate = torch.full((2,), 0.1, requires_grad=True)
    loss = (w * gate).sum()
    return locals()


def rounded() -> dict[str, Any]:
    w = torch.tensor([1.2, 2.7], requires_grad=True)
    whole = w.round()
    loss = whole.pow(2).sum()
    return locals()


def rounded_fixed() -> dict[str, Any]:
    w = torch.tensor([1.2, 2.7], requires_grad=True)
    whole = w + (w.round() - w).detach()
    loss = whole.pow(2).sum()
    return locals()


def frozen_batch_norm() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False), nn.Linear(3, 1))
    model[1].eval()
    model[1].running_var.zero_()  # type: ignore[operator]
    x = torch.rand(8, 4)
    loss = model(x).sum()
    return locals()


def frozen_batch_norm_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    x = torch.rand(8, 4)
    loss = model(x).pow(2).sum()
    return locals()


def batch_norm_sum() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(3))
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], requires_grad=True)
    loss = model(x).pow(2).sum()
    return locals()


def batch_norm_sum_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(3))
    x = torch.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 5.0], [7.0, 2.0, 4.0]], requires_grad=True)
    loss = model(x).pow(3).sum()
    return locals()


def mixed_dtypes() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1).double())
    x = torch.ones(2, 3)
    loss = model(x).sum()
    return locals()


def mixed_dtypes_fixed() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1).double()).float()
    x = torch.ones(2, 3)
    loss = model(x).sum()
    return locals()


def dropout_recomputed() -> dict[str, Any]:
    torch.manual_seed(7)
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda t: nn.functional.dropout(t.sin(), 0.5) * 3, x, use_reentrant=False, preserve_rng_state=False)
    mask = y != 0
    loss = y.sum()

    def after_kept_without_gradient() -> int:
        return int(((x.grad != 0) != mask).sum())

    return locals()


def dropout_recomputed_fixed() -> dict[str, Any]:
    torch.manual_seed(7)
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda t: nn.functional.dropout(t.sin(), 0.5) * 3, x, use_reentrant=False)
    mask = y != 0
    loss = y.sum()

    def after_kept_without_gradient() -> int:
        return int(((x.grad != 0) != mask).sum())

    return locals()


def hook_on_tied_weight() -> dict[str, Any]:
    emb = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    log: list[Any] = []

    def look(gradient: torch.Tensor) -> None:
        log.append(["tensor_hook", gradient.tolist(), emb.grad is None])

    def after(parameter: torch.Tensor) -> None:
        log.append(["post_acc", parameter.grad.tolist(), False])  # type: ignore[union-attr]

    emb.register_hook(look)  # type: ignore[no-untyped-call]
    emb.register_post_accumulate_grad_hook(after)  # type: ignore[no-untyped-call]
    x = torch.tensor([[1.0, 1.0]])
    loss = ((x @ emb) @ emb.t()).sum()
    return locals()


def hook_that_zeroes() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.register_hook(torch.zeros_like)  # type: ignore[no-untyped-call]
    loss = w.pow(2).sum()
    return locals()


def hook_that_zeroes_fixed() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = w.pow(2).sum()
    return locals()


def second_backward() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = w.pow(2).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    w.grad = None
    return locals()


def second_backward_fixed() -> dict[str, Any]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = w.pow(2).sum()
    loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    w.grad = None
    return locals()
