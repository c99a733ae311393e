"""A gradient step in place and out of place: what is allocated, and time."""

from __future__ import annotations

from functools import partial

import torch

from engine.claims.counting import Calls, Pairs, live_bytes

LR = 1e-6


def counts(tensors: int, width: int) -> dict[str, float]:
    """Storages that one step makes, and the bytes of them alive at once."""
    found: dict[str, float] = {}
    for name, update in {"in place": update_in_place, "out of place": update_out_of_place}.items():
        counted = live_bytes(partial(update, make_parameters(tensors, width)))
        found |= {f"allocations {name}": counted.allocations, f"peak bytes {name}": counted.peak_bytes}
    return found


def pairs(tensors: int, width: int) -> Pairs:
    """One step over every tensor."""
    first, second = make_parameters(tensors, width), make_parameters(tensors, width)
    return {
        "one step": {
            "out of place": lambda: update_out_of_place(second),
            "in place": lambda: update_in_place(first),
        }
    }


def calls(tensors: int, width: int) -> Calls:
    """The write that the article warns of, and the one it allows."""
    x = torch.ones(3, 4, requires_grad=True)

    def without_gradients() -> torch.Tensor:
        with torch.no_grad():
            return x.add_(1)

    return {"x.add_(1) on a leaf that requires grad": lambda: x.add_(1), "the same under no_grad": without_gradients}


def make_parameters(tensors: int, width: int) -> list[torch.Tensor]:
    """Leaves of width x width with a gradient each."""
    parameters = [torch.randn(width, width, requires_grad=True) for _ in range(tensors)]
    for parameter in parameters:
        parameter.grad = torch.randn(width, width)
    return parameters


def update_in_place(parameters: list[torch.Tensor]) -> None:
    """As in the article, the gradient kept."""
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-LR)


def update_out_of_place(parameters: list[torch.Tensor]) -> None:
    """New values in new storages."""
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.data = parameter - LR * parameter.grad
