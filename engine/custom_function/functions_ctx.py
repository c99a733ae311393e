"""Functions about ctx and about backward going wrong: what is saved where, marks, and four faulty backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class SquareOnce(Function):
    """x * x; its backward may not be differentiated again."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


class XExp(Function):
    """x * exp(x), input and output kept by save_for_backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x * torch.exp(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        x, y = ctx.saved_tensors
        return grad_output * (y + torch.exp(x))


class XExpOnCtx(Function):
    """x * exp(x), input and output kept as attributes of ctx: no version check, and the output keeps itself alive."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x * torch.exp(x)
        ctx.x, ctx.y = x, y
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return grad_output * (ctx.y + torch.exp(ctx.x))


class ScaleInPlace(Function):
    """x * scale written into x, which mark_dirty tells autograd."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.scale = scale
        ctx.mark_dirty(x)
        return x.mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return grad_output * ctx.scale, None


class Noisy(Function):
    """x * 2, whose backward differs a little from call to call."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, noise: float) -> torch.Tensor:
        ctx.noise = noise
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return grad_output * 2 * (1 + ctx.noise * torch.randn_like(grad_output)), None


class WrongFactor(Function):
    """x * x, whose backward has a factor too many."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return ctx.factor * grad_output * 2 * x, None


class WrongShape(Function):
    """x * x, whose backward sums the gradient to one number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return (grad_output * 2 * x).sum()
