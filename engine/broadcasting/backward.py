"""Gradients of broadcast operands: summed over every dimension that was put in front or stretched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from engine.broadcasting.operands import attempt
from engine.broadcasting.results import OperandGradient, Placed
from engine.broadcasting.spec import BroadcastSpec


def operand_gradients(
    spec: BroadcastSpec, operands: Sequence[Any], result: torch.Tensor, placed: tuple[Placed, ...]
) -> tuple[Placed, ...]:
    """`placed` with the gradient of each operand that has one, from a random whole-numbered gradient of the result."""
    if not result.requires_grad:
        return placed
    generator = torch.Generator().manual_seed(spec.seed)
    incoming = torch.randint(-3, 4, result.shape, generator=generator).to(result.dtype)
    _, error = attempt(lambda: result.backward(incoming))  # type: ignore[no-untyped-call]
    if error is not None:
        return placed
    has_gradient = [isinstance(operand, torch.Tensor) and operand.grad is not None for operand in operands]
    return tuple(
        _with_gradient(spec, number, place, operands, incoming) if has_gradient[number] else place
        for number, place in enumerate(placed)
    )


def _with_gradient(
    spec: BroadcastSpec, number: int, place: Placed, operands: Sequence[Any], incoming: torch.Tensor
) -> Placed:
    gradient = operands[number].grad
    dims = sorted((*place.new_dims, *place.stretched_dims))
    by_hand = sum_back(full_gradient(spec.operation, number, operands, incoming), place)
    distance = (gradient - by_hand).abs().max().item() if gradient.numel() else 0.0
    found = OperandGradient(shape=tuple(gradient.shape), summed_dims=tuple(dims), max_abs_error=float(distance))
    return msgspec.structs.replace(place, gradient=found)


def full_gradient(operation: str, number: int, operands: Sequence[Any], incoming: torch.Tensor) -> torch.Tensor:
    """The derivative in the expanded shape, before any sum: the incoming gradient times what stood beside."""
    values = [operand.detach() if isinstance(operand, torch.Tensor) else operand for operand in operands]
    if operation == "add" or (operation == "sub" and number == 0):
        return incoming
    if operation == "sub":
        return -incoming
    if operation == "mul":
        for value in (*values[:number], *values[number + 1 :]):
            incoming = incoming * value.conj() if isinstance(value, torch.Tensor) else incoming * value.conjugate()
        return incoming
    if operation == "where":
        return torch.where(values[0] if number == 1 else ~values[0], incoming, torch.zeros_like(incoming))
    if operation == "mse_loss":
        return incoming * 2 * (values[0] - values[1]) * (1 if number == 0 else -1)
    return _matmul_gradient(number, values, incoming)


def _matmul_gradient(number: int, values: Sequence[torch.Tensor], incoming: torch.Tensor) -> torch.Tensor:
    """g @ bᴴ for a, aᴴ @ g for b, with 1-D operands as a row or a column."""
    a, b = values
    column = b[:, None] if b.dim() == 1 else b
    row = a[None, :] if a.dim() == 1 else a
    if b.dim() == 1:
        incoming = incoming.unsqueeze(-1)
    if a.dim() == 1:
        incoming = incoming.unsqueeze(-2)
    if number == 0:
        full = incoming @ column.mH
        return full.squeeze(-2) if a.dim() == 1 else full
    full = row.mH @ incoming
    return full.squeeze(-1) if b.dim() == 1 else full


def sum_back(full: torch.Tensor, place: Placed) -> torch.Tensor:
    """`full` summed over the new and the stretched dims, the latter kept as 1: what `sum_to_size` does."""
    full = full.expand(place.expanded_shape or full.shape)
    if place.stretched_dims:
        full = full.sum(dim=place.stretched_dims, keepdim=True)
    if place.new_dims:
        full = full.sum(dim=place.new_dims)
    return full
