"""The leaves of a built model and one backward through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from engine.gradients.results import LeafKind
from engine.models.build import Built
from engine.pytorch_said import PyTorchSaid, attempt


def leaves_of(built: Built) -> Iterator[tuple[str, LeafKind, torch.Tensor]]:
    """Parameters by their first name, then inputs."""
    for name, parameter in built.model.named_parameters():
        yield name, "parameter", parameter
    for name, tensor in built.inputs.items():
        yield name, "input", tensor


def differentiate(built: Built) -> tuple[float | None, PyTorchSaid | None]:
    """Forward, loss and backward: the loss, or what PyTorch said instead."""

    def call() -> float:
        loss = built.loss(built.forward())
        backward(loss)
        return float(loss.detach())

    return attempt(call)


def backward(loss: torch.Tensor) -> None:
    """`loss.backward()`."""
    loss.backward()  # type: ignore[no-untyped-call]


def gradients_of(built: Built) -> dict[str, torch.Tensor | None]:
    """`.grad` of every leaf that requires one, by name."""
    return {name: leaf.grad for name, _, leaf in leaves_of(built) if leaf.requires_grad and leaf.is_leaf}


def clear(built: Built) -> None:
    """`.grad = None` for every leaf."""
    for _, _, leaf in leaves_of(built):
        leaf.grad = None


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """All values as one float64 vector on the CPU; of complex ones real and imaginary parts, of sparse ones dense."""
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    if dense.is_complex():
        dense = torch.view_as_real(dense.resolve_conj())
    return dense.reshape(-1).to("cpu").to(torch.float64)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor in C order, so that equal means equal to the last bit."""
    dense: Any = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    return dense.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).to("cpu")  # type: ignore[no-any-return]
