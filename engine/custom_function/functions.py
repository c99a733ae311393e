"""Functions with a backward of their own: sigmoids that clip, an approximate GELU, surrogates and a right ReLU."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.autograd import Function


class CustomSigmoid(Function):
    """Sigmoid of beta * x; backward clamps its derivative to [-clip, clip], then multiplies by grad_output."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, beta: float = 1.0, clip: float = 0.1) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.beta, ctx.clip = beta, clip
        return 1 / (1 + torch.exp(-beta * x))

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        s = 1 / (1 + torch.exp(-ctx.beta * x))
        grad = torch.clamp(ctx.beta * s * (1 - s), -ctx.clip, ctx.clip)
        return grad_output * grad, None, None


class SafeSigmoid(Function):
    """Sigmoid that saves its output; backward clamps the product with grad_output to [-1, 1]."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        output = 1 / (1 + torch.exp(-x))
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (output,) = ctx.saved_tensors
        grad = output * (1 - output) * grad_output
        return torch.clamp(grad, -1, 1)


class FusedGELU(Function):
    """GELU by tanh; backward is the derivative of another approximation, x * sigmoid(1.702 x)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        s = 1 / (1 + torch.exp(-1.702 * x))
        return grad_output * (s + 1.702 * x * s * (1 - s))


class HandReLU(Function):
    """max(x, 0) with the derivative 0 at the kink, as PyTorch's own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


class RoundStraightThrough(Function):
    """round(x), whose gradient passes unchanged where |x| <= limit: a surrogate for a derivative of 0."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, limit: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.limit = limit
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= ctx.limit), None


class SignStraightThrough(Function):
    """sign(x), whose gradient passes unchanged where |x| <= limit."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, limit: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.limit = limit
        return torch.sign(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= ctx.limit), None


class ClipGradient(Function):
    """x * scale; backward clamps the gradient it returns to [-limit, limit]."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float, limit: float) -> torch.Tensor:
        ctx.scale, ctx.limit = scale, limit
        return x * scale

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return (grad_output * ctx.scale).clamp(-ctx.limit, ctx.limit), None, None


class ReverseGradient(Function):
    """The identity; backward turns the gradient round and scales it, as in domain-adversarial training."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.scale = scale
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return -ctx.scale * grad_output, None
