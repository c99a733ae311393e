"""Ways to multiply a Hessian with a vector, and the full Hessian they replace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.higher_order.problems import Function

functional: Any = torch.autograd.functional
Multiply = Callable[[Function, Tensor, Tensor], Tensor]
FULL = "full Hessian @ v"


def double_backward(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """autograd.grad with create_graph=True, then autograd.grad of the gradient with v; zeros where no path is left."""
    leaf = x.detach().requires_grad_()
    gradient = torch.autograd.grad(f(leaf), leaf, create_graph=True)[0]
    return torch.autograd.grad(gradient, leaf, grad_outputs=v, materialize_grads=True)[0]


def forward_over_reverse(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """The derivative of the gradient in direction v: one forward pass with tangents over one backward."""
    found: Tensor = torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]
    return found


def reverse_over_forward(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """The gradient of the derivative in direction v."""
    found: Tensor = torch.func.grad(lambda x: torch.func.jvp(f, (x,), (v,))[1])(x)
    return found


def reverse_over_reverse(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """vjp of the gradient: double backward in torch.func's words."""
    vjp: Any = torch.func.vjp(torch.func.grad(f), x)[1]
    found: Tensor = vjp(v)[0]
    return found


def full_hessian(f: Function, x: Tensor, v: Tensor) -> Tensor:
    """All n * n entries, then one matrix-vector product."""
    found: Tensor = functional.hessian(f, x) @ v
    return found


PRODUCTS: dict[str, tuple[str, Multiply]] = {
    "double backward": ("grad(grad(f(x), x, create_graph=True), x, grad_outputs=v)", double_backward),
    "forward over reverse": ("torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]", forward_over_reverse),
    "reverse over forward": ("torch.func.grad(lambda x: jvp(f, (x,), (v,))[1])(x)", reverse_over_forward),
    "vjp of grad": ("torch.func.vjp(torch.func.grad(f), x)[1](v)[0]", reverse_over_reverse),
    "functional.hvp": ("torch.autograd.functional.hvp(f, x, v)[1]", lambda f, x, v: functional.hvp(f, x, v)[1]),
    "functional.vhp": ("torch.autograd.functional.vhp(f, x, v)[1]", lambda f, x, v: functional.vhp(f, x, v)[1]),
    FULL: ("torch.autograd.functional.hessian(f, x) @ v", full_hessian),
}
"""The first is what the others are compared to in time."""
