"""A Hessian-vector product by two backward passes, against the whole Hessian times the vector."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from engine.claims.counting import Calls, Pairs, live_bytes


class Problem:
    """A two-layer MLP with tanh, its loss on fixed data, and a vector of its parameters' size."""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.model = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, inputs))
        self.x, self.y = torch.randn(64, inputs), torch.randn(64, inputs)
        self.parameters = list(self.model.parameters())
        self.size = sum(parameter.numel() for parameter in self.parameters)
        self.v = torch.randn(self.size)

    def gradient(self) -> torch.Tensor:
        """Of the loss, flat, with its own graph."""
        parts = torch.autograd.grad(self.loss(), self.parameters, create_graph=True)
        return torch.cat([part.reshape(-1) for part in parts])

    def product(self) -> torch.Tensor:
        """H v by differentiating the gradient once more in direction v."""
        parts = torch.autograd.grad(self.gradient(), self.parameters, grad_outputs=self.v)
        return torch.cat([part.reshape(-1) for part in parts])

    def by_hessian(self) -> torch.Tensor:
        """H v with every row of H computed and kept."""
        gradient = self.gradient()
        hessian = torch.empty(self.size, self.size)
        for row in range(self.size):
            parts = torch.autograd.grad(gradient[row], self.parameters, retain_graph=True)
            hessian[row] = torch.cat([part.reshape(-1) for part in parts])
        return hessian @ self.v

    def loss(self) -> torch.Tensor:
        return nn.functional.mse_loss(self.model(self.x), self.y)


def given(model: nn.Module) -> Any:
    """The parameters as the generator that the article passes on."""
    return model.parameters()


def hvp_as_printed(model: nn.Module, loss: torch.Tensor, v: Any) -> tuple[torch.Tensor, ...]:
    """The article's three steps: gradients with a graph, flat, differentiated in direction v."""
    parts = torch.autograd.grad(loss, given(model), create_graph=True)
    flat = torch.cat([part.view(-1) for part in parts])
    products: tuple[torch.Tensor, ...] = torch.autograd.grad(flat, given(model), grad_outputs=v)
    return products


def counts(inputs: int, hidden: int) -> dict[str, float]:
    """Parameters, most bytes alive at once of both ways, and how far their results are apart."""
    problem = Problem(inputs, hidden)
    product, whole = live_bytes(problem.product).peak_bytes, live_bytes(problem.by_hessian).peak_bytes
    apart = (problem.product() - problem.by_hessian()).norm() / problem.product().norm()
    return {
        "parameters": problem.size,
        "Hessian bytes": 4 * problem.size**2,
        "peak bytes of the product": product,
        "peak bytes of the whole Hessian": whole,
        "saved share": 1 - product / whole,
        "relative difference of the results": apart.item(),
    }


def pairs(inputs: int, hidden: int) -> Pairs:
    """Both ways."""
    problem = Problem(inputs, hidden)
    return {"both ways": {"whole Hessian": problem.by_hessian, "product": problem.product}}


def calls(inputs: int, hidden: int) -> Calls:
    """The article's function with a flat v, with v shaped like the parameters, and with a loss that is a sum."""
    problem = Problem(inputs, hidden)
    shaped = [torch.ones_like(parameter) for parameter in problem.parameters]
    return {
        "hvp as printed, v one flat vector": lambda: hvp_as_printed(problem.model, problem.loss(), problem.v),
        "hvp as printed, v shaped like the parameters": lambda: hvp_as_printed(problem.model, problem.loss(), shaped),
        "hvp as printed, loss = model(x).sum()": lambda: hvp_as_printed(
            problem.model, problem.model(problem.x).sum(), problem.v
        ),
    }
