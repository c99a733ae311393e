"""Gradients of broadcast operands, and the same by hand: summed over every dimension put in front or stretched."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from engine.broadcasting.operands import Value, apply
from engine.broadcasting.results import OperandGradient, Placed
from engine.broadcasting.spec import BroadcastSpec
from engine.pytorch_said import PyTorchSaid, attempt


def operand_gradients(
    spec: BroadcastSpec, operands: Sequence[Any], result: torch.Tensor, placed: tuple[Placed, ...]
) -> tuple[tuple[Placed, ...], PyTorchSaid | None]:
    """`placed` with the gradient of each operand that has one, from a random whole-numbered gradient of the result.

    Beside it PyTorch's words where it refuses to go backward.
    """
    if not result.requires_grad:
        return placed, None
    incoming = _incoming(result, spec.seed)
    _, error = attempt(lambda: result.backward(incoming))  # type: ignore[no-untyped-call]
    if error is not None:
        return placed, error
    values = [operand.detach() if isinstance(operand, torch.Tensor) else operand for operand in operands]
    by_hand, _ = attempt(lambda: gradients_by_hand(spec.operation, values, incoming))
    found = tuple(
        place
        if _gradient(operand) is None
        else _with_gradient(place, operand.grad, by_hand[number] if by_hand else None)
        for number, (place, operand) in enumerate(zip(placed, operands, strict=True))
    )
    return found, None


def _gradient(operand: Value) -> torch.Tensor | None:
    return operand.grad if isinstance(operand, torch.Tensor) else None


def _incoming(result: torch.Tensor, seed: int) -> torch.Tensor:
    """Whole numbers from -3 to 3, in both parts of a complex result."""
    generator = torch.Generator().manual_seed(seed)
    real = torch.randint(-3, 4, result.shape, generator=generator).to(result.dtype)
    if not result.is_complex():
        return real
    return real + 1j * torch.randint(-3, 4, result.shape, generator=generator).to(result.dtype)


def _with_gradient(place: Placed, gradient: torch.Tensor, by_hand: torch.Tensor | None) -> Placed:
    found = OperandGradient(
        shape=tuple(gradient.shape),
        summed_dims=tuple(sorted((*place.new_dims, *place.stretched_dims))),
        max_abs_error=None if by_hand is None else _distance(gradient, by_hand),
    )
    return msgspec.structs.replace(place, gradient=found)


def _distance(gradient: torch.Tensor, by_hand: torch.Tensor) -> float:
    """The largest distance; 0 where both overflow to the same infinity."""
    apart = (gradient - by_hand).abs().masked_fill(gradient == by_hand, 0.0)
    return float(apart.max()) if apart.numel() else 0.0


def gradients_by_hand(operation: str, values: Sequence[Any], incoming: torch.Tensor) -> list[torch.Tensor]:
    """The chain rule from the last operand back to the first: times what stood beside, summed back, in its own dtype.

    Operands without a gradient (numbers, whole numbers, bool) get what would be theirs.
    """
    if operation == "where":
        chosen, zeros = values[0] != 0, torch.zeros_like(incoming)
        fulls = [zeros, torch.where(chosen, incoming, zeros), torch.where(chosen, zeros, incoming)]
        return [_like(full, value) for full, value in zip(fulls, values, strict=True)]
    partial = list(itertools.accumulate(values[:-1], lambda left, right: apply(operation, (left, right))))
    found = []
    for number in range(len(values) - 1, 0, -1):
        left, right = partial[number - 1], values[number]
        to_left, to_right = _derivatives(operation, left, right, incoming)
        found.append(_like(to_right, right))
        incoming = _like(to_left, left)
    return [incoming, *reversed(found)]


def _derivatives(operation: str, left: Any, right: Any, incoming: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of both operands in the expanded shape, before any sum."""
    if operation == "add":
        return incoming, incoming
    if operation == "sub":
        return incoming, -incoming
    if operation == "mul":
        return incoming * _conjugate(right), incoming * _conjugate(left)
    if operation == "mse_loss":
        slope = 2 * (left.to(incoming.dtype) - right.to(incoming.dtype)) * incoming
        return slope, -slope
    return _matmul_derivatives(left, right, incoming)


def _conjugate(value: Any) -> Any:
    return value.conj() if isinstance(value, torch.Tensor) else value.conjugate()


def _matmul_derivatives(a: torch.Tensor, b: torch.Tensor, incoming: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """g @ bᴴ for a, aᴴ @ g for b, with 1-D operands as a row or a column."""
    column = b[:, None] if b.dim() == 1 else b
    row = a[None, :] if a.dim() == 1 else a
    if b.dim() == 1:
        incoming = incoming.unsqueeze(-1)
    if a.dim() == 1:
        incoming = incoming.unsqueeze(-2)
    to_a, to_b = incoming @ column.mH, row.mH @ incoming
    return to_a.squeeze(-2) if a.dim() == 1 else to_a, to_b.squeeze(-1) if b.dim() == 1 else to_b


def _like(full: torch.Tensor, value: Any) -> torch.Tensor:
    """`full` summed back to the operand's shape, of a real operand the real part, in the operand's dtype."""
    if not isinstance(value, torch.Tensor):
        return full
    summed = sum_back(full, tuple(value.shape))
    return (summed.real if summed.is_complex() and not value.is_complex() else summed).to(value.dtype)


def sum_back(full: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """`full` summed over the dims that `shape` lacks or has as 1: what `sum_to_size` does."""
    added = full.dim() - len(shape)
    stretched = [added + dim for dim, size in enumerate(shape) if size == 1 and full.shape[added + dim] != 1]
    dims = [*range(added), *stretched]
    return full.sum(dim=dims, keepdim=True).reshape(shape) if dims else full
