"""Functions of a vector: what is computed, where, and the Hessian or Jacobian by hand where one is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from engine.expression.evaluate import evaluate
from engine.expression.language import Tree
from engine.higher_order.spec import CurvatureSpec, MatrixSpec, ProductSpec

FEATURES, EXAMPLES, LAYER_ROWS = 4, 32, 4
"""Of a network: what it is given; rows of W in a layer."""
MOST_MULTIPLIED = 128
"""Entries up to which the Hessian of their product is made by hand, from n * n * n factors."""
Function = Callable[[Tensor], Tensor]


class Problem(NamedTuple):
    """A function of the vector `x`; `names` says which parameter every entry belongs to, () where x is one vector."""

    function: Function
    x: Tensor
    names: tuple[str, ...] = ()
    closed_form: Function | None = None
    closed_form_text: str = ""


def problem_of(spec: MatrixSpec | ProductSpec | CurvatureSpec) -> Problem:
    """The function of a spec at its point."""
    dtype = getattr(torch, spec.dtype)
    if "network" in spec.function:
        return _network(spec.function, spec.n, spec.seed, dtype)
    point = spec.point if isinstance(spec, MatrixSpec) else ()
    x = torch.tensor(point, dtype=dtype) if point else _normal(spec.seed + 1, spec.n, dtype=dtype)
    if isinstance(spec, MatrixSpec) and spec.function == "typed":
        return Problem(partial(_typed, spec.tree), x)
    is_jacobian = isinstance(spec, MatrixSpec) and spec.matrix == "Jacobian"
    return _named(spec.function, x, spec.seed, is_jacobian)


def _typed(tree: Tree, x: Tensor) -> Tensor:
    """As autograd takes it: a plain number or a comparison becomes a tensor of x's dtype, with no path to x."""
    found = evaluate(tree, {"x": x})
    if isinstance(found, Tensor) and found.is_floating_point():
        return found
    return torch.as_tensor(found, dtype=x.dtype)


def direction(x: Tensor, seed: int) -> Tensor:
    """The vector v that a Hessian is multiplied with."""
    return _normal(seed + 2, x.numel(), dtype=x.dtype)


def _normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Drawn in float64, so that both dtypes have the same numbers but for rounding."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _named(name: str, x: Tensor, seed: int, is_jacobian: bool) -> Problem:
    if name == "Rosenbrock":
        return _by_hand(rosenbrock, x, rosenbrock_hessian, "tridiagonal, by hand", is_jacobian)
    if name == "quadratic form":
        return _quadratic(x, seed, is_jacobian)
    if name == "product":
        if x.numel() > MOST_MULTIPLIED:
            return Problem(torch.prod, x)
        return _by_hand(torch.prod, x, product_hessian, "products of all other entries", is_jacobian)
    if name == "logsumexp":
        return _by_hand(lambda x: torch.logsumexp(x, 0), x, softmax_jacobian, "diag(p) - p p^T", is_jacobian)
    if name == "softmax":
        return Problem(lambda x: torch.softmax(x, 0), x, (), softmax_jacobian, "diag(p) - p p^T")
    return _layer(name == "ReLU layer", x, seed, is_jacobian)


def _by_hand(function: Function, x: Tensor, hessian: Function, text: str, is_jacobian: bool) -> Problem:
    """The closed form is of the Hessian."""
    return Problem(function, x) if is_jacobian else Problem(function, x, (), hessian, text)


def rosenbrock(x: Tensor) -> Tensor:
    """sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rosenbrock_hessian(x: Tensor) -> Tensor:
    """Each entry meets its neighbours only."""
    diagonal = torch.zeros_like(x)
    diagonal[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    beside = torch.diag(-400 * x[:-1], 1)
    return torch.diag(diagonal) + beside + beside.T


def product_hessian(x: Tensor) -> Tensor:
    """Entry (i, j) is the product of all but x[i] and x[j]; the diagonal is 0."""
    n = x.numel()
    left_out = torch.eye(n, dtype=torch.bool)
    kept = torch.where(left_out[:, None] | left_out[None, :], torch.ones_like(x), x).prod(-1)
    return kept.masked_fill(left_out, 0.0)


def softmax_jacobian(x: Tensor) -> Tensor:
    """diag(p) - p p^T; also the Hessian of logsumexp."""
    p = torch.softmax(x, 0)
    return torch.diag(p) - torch.outer(p, p)


def _quadratic(x: Tensor, seed: int, is_jacobian: bool) -> Problem:
    """Half of x^T (diag(d) + u u^T) x: its Hessian is that matrix, which is never made."""
    n = x.numel()
    d = torch.linspace(-1, 3, n, dtype=x.dtype)
    u = _normal(seed, n, dtype=x.dtype) / n**0.5
    return _by_hand(
        lambda x: 0.5 * ((d * x * x).sum() + torch.dot(u, x) ** 2),
        x,
        lambda x: torch.diag(d) + torch.outer(u, u),
        "diag(d) + u u^T",
        is_jacobian,
    )


def _layer(is_relu: bool, x: Tensor, seed: int, is_jacobian: bool) -> Problem:
    """act(W x), summed where a Hessian is asked for; W is 4 by n."""
    w = _normal(seed, LAYER_ROWS, x.numel(), dtype=x.dtype)
    act = torch.relu if is_relu else torch.tanh
    if is_jacobian:
        return Problem(lambda x: act(w @ x), x, (), lambda x: _slope(is_relu, w @ x)[:, None] * w, "diag(act'(W x)) W")
    second = "W^T diag(act''(W x)) W"
    return Problem(lambda x: act(w @ x).sum(), x, (), lambda x: w.T @ (_bend(is_relu, w @ x)[:, None] * w), second)


def _slope(is_relu: bool, z: Tensor) -> Tensor:
    return (z > 0).to(z.dtype) if is_relu else 1 - z.tanh() ** 2


def _bend(is_relu: bool, z: Tensor) -> Tensor:
    return torch.zeros_like(z) if is_relu else -2 * z.tanh() * (1 - z.tanh() ** 2)


def hidden_of(n: int) -> int:
    """Hidden units of the network whose parameters come nearest to n from below, at least one."""
    return max(1, (n - 1) // (FEATURES + 2))


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """F.mse_loss in elementary operations, whose backward forward mode can differentiate."""
    return ((outputs - targets) ** 2).mean()


def _network(function: str, n: int, seed: int, dtype: torch.dtype) -> Problem:
    """The mean squared error of a small MLP as a function of all of its parameters, flat."""
    hidden = hidden_of(n)
    shapes = {"0.weight": (hidden, FEATURES), "0.bias": (hidden,), "2.weight": (1, hidden), "2.bias": (1,)}
    act = torch.relu if function.startswith("ReLU") else torch.tanh
    error = nn.functional.mse_loss if function.endswith("mse_loss") else squared_error
    inputs, targets = _normal(seed, EXAMPLES, FEATURES, dtype=dtype), _normal(seed + 3, EXAMPLES, 1, dtype=dtype)
    ends = [0]
    for shape in shapes.values():
        ends.append(ends[-1] + torch.Size(shape).numel())

    def loss(x: Tensor) -> Tensor:
        parts = [x[ends[k] : ends[k + 1]].view(shape) for k, shape in enumerate(shapes.values())]
        outputs = nn.functional.linear(act(nn.functional.linear(inputs, *parts[:2])), *parts[2:])
        return error(outputs, targets)

    scale = torch.cat([torch.full(shape, shape[-1] ** -0.5, dtype=dtype).reshape(-1) for shape in shapes.values()])
    x = _normal(seed + 1, ends[-1], dtype=dtype) * scale
    names = tuple(f"{name}[{k}]" for name, shape in shapes.items() for k in range(torch.Size(shape).numel()))
    return Problem(loss, x, names)
