"""Programs in which a NaN or an infinity is born."""

from __future__ import annotations

from typing import Any

import torch


def where_nan() -> dict[str, Any]:
    x = torch.tensor([-4.0, 9.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), x)
    loss = y.sum()
    return locals()


def where_nan_fixed() -> dict[str, Any]:
    x = torch.tensor([-4.0, 9.0], requires_grad=True)
    inside = torch.where(x > 0, x, 1.0)
    y = torch.where(x > 0, inside.sqrt(), x)
    loss = y.sum()
    return locals()


def divide_by_zero() -> dict[str, Any]:
    a = torch.tensor([1.0, 0.0], requires_grad=True)
    b = torch.tensor([0.0, 0.0], requires_grad=True)
    ratio = a / b
    loss = ratio.sum()
    return locals()


def divide_by_zero_fixed() -> dict[str, Any]:
    a = torch.tensor([1.0, 0.0], requires_grad=True)
    b = torch.tensor([0.0, 0.0], requires_grad=True)
    ratio = a / (b + 1e-3)
    loss = ratio.sum()
    return locals()


def sqrt_at_zero() -> dict[str, Any]:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = x.pow(2).sqrt()
    loss = root.sum()
    return locals()


def sqrt_at_zero_fixed() -> dict[str, Any]:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = (x.pow(2) + 1e-12).sqrt()
    loss = root.sum()
    return locals()


def log_of_zero() -> dict[str, Any]:
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    entropy = -(p * p.log())
    loss = entropy.sum()
    return locals()


def log_of_zero_fixed() -> dict[str, Any]:
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    entropy = -(p * p.clamp_min(1e-6).log())
    loss = entropy.sum()
    return locals()


def softmax_without_max() -> dict[str, Any]:
    logits = torch.tensor([100.0, 1.0], requires_grad=True)
    exponentials = logits.exp()
    shares = exponentials / exponentials.sum()
    loss = -shares[1]
    return locals()


def softmax_without_max_fixed() -> dict[str, Any]:
    logits = torch.tensor([100.0, 1.0], requires_grad=True)
    shares = logits.softmax(dim=0)
    loss = -shares[1]
    return locals()


def zero_times_inf() -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mask = torch.tensor([1.0, 0.0])
    scores = torch.tensor([3.0, float("inf")])
    loss = (x * scores * mask).sum()
    return locals()


def zero_times_inf_fixed() -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mask = torch.tensor([1.0, 0.0])
    scores = torch.tensor([3.0, float("inf")])
    chosen = torch.where(mask > 0, scores, 0.0)
    loss = (x * chosen).sum()
    return locals()


def norm_at_zero() -> dict[str, Any]:
    point = torch.zeros(3, requires_grad=True)
    length = (point * point).sum().sqrt()
    loss = length * 2
    return locals()


def norm_at_zero_fixed() -> dict[str, Any]:
    point = torch.zeros(3, requires_grad=True)
    length = torch.linalg.vector_norm(point)
    loss = length * 2
    return locals()


def float16_overflow() -> dict[str, Any]:
    x = torch.full((1, 64), 50.0)
    w = torch.full((64, 2), 30.0, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        y = x @ w
    loss = y.float().sum()
    return locals()


def float16_overflow_fixed() -> dict[str, Any]:
    x = torch.full((1, 64), 50.0)
    w = torch.full((64, 2), 30.0, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
    loss = y.float().sum()
    return locals()


def masked_row() -> dict[str, Any]:
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    hidden = torch.tensor([[False, True], [True, True]])
    weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=1)
    loss = weights.sum()
    return locals()


def masked_row_fixed() -> dict[str, Any]:
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    hidden = torch.tensor([[False, True], [True, True]])
    weights = scores.masked_fill(hidden, -1e9).softmax(dim=1)
    loss = weights.sum()
    return locals()
