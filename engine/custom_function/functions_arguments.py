"""Functions about what goes in and out: several outputs, numbers and lists as arguments, tensors without gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import Function


class SinCos(Function):
    """Two outputs; an output that was not used arrives in backward as zeros."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sin, cos = torch.sin(x), torch.cos(x)
        ctx.save_for_backward(sin, cos)
        return sin, cos

    @staticmethod
    def backward(ctx: Any, grad_sin: torch.Tensor, grad_cos: torch.Tensor) -> Any:
        sin, cos = ctx.saved_tensors
        return grad_sin * cos - grad_cos * sin


class SinCosUnmaterialized(Function):
    """Two outputs; with set_materialize_grads(False) an unused one arrives as None and costs nothing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sin, cos = torch.sin(x), torch.cos(x)
        ctx.save_for_backward(sin, cos)
        ctx.set_materialize_grads(False)
        return sin, cos

    @staticmethod
    def backward(ctx: Any, grad_sin: torch.Tensor | None, grad_cos: torch.Tensor | None) -> Any:
        sin, cos = ctx.saved_tensors
        from_sin = None if grad_sin is None else grad_sin * cos
        from_cos = None if grad_cos is None else -grad_cos * sin
        if from_sin is None or from_cos is None:
            return from_cos if from_sin is None else from_sin
        return from_sin + from_cos


class SquareAndFloor(Function):
    """x * x and floor(x), of which the second is marked as non-differentiable."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(x)
        floor = torch.floor(x)
        ctx.mark_non_differentiable(floor)
        return x * x, floor

    @staticmethod
    def backward(ctx: Any, grad_square: torch.Tensor, grad_floor: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_square * 2 * x


class Shift(Function):
    """x + amount; backward returns None for the number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, amount: float) -> torch.Tensor:
        return x + amount

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return grad_output, None


class ShiftWithoutSlot(Function):
    """x + amount; backward forgets the slot of the number."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, amount: float) -> torch.Tensor:
        return x + amount

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return grad_output


class Fixed(Function):
    """A copy whose gradient is multiplied by a saved tensor that itself gets none."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(want)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (want,) = ctx.saved_tensors
        return want * grad_output, None


class Joined(Function):
    """torch.cat of tensors given one by one: apply(a, b) sees each of them."""

    @staticmethod
    def forward(ctx: Any, *parts: torch.Tensor) -> torch.Tensor:
        ctx.sizes = [len(part) for part in parts]
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return torch.split(grad_output, ctx.sizes)


class JoinedList(Function):
    """torch.cat of a list: apply([a, b]) does not look into it, so nothing is tracked."""

    @staticmethod
    def forward(ctx: Any, parts: list[torch.Tensor]) -> torch.Tensor:
        ctx.sizes = [len(part) for part in parts]
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return list(torch.split(grad_output, ctx.sizes))


class LinearFunction(Function):
    """x @ weight.T + bias with a gradient for all three."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        x, weight = ctx.saved_tensors
        return grad_output @ weight.conj(), grad_output.T @ x.conj(), grad_output.sum(0)


class ComplexSquare(Function):
    """z * z; for complex z PyTorch wants the gradient with the derivative conjugated."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (z,) = ctx.saved_tensors
        return grad_output * (2 * z).conj()


class ComplexSquareUnconjugated(Function):
    """z * z without the conjugate in backward: right for real z only."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (z,) = ctx.saved_tensors
        return grad_output * 2 * z
