"""compute_matrix: a Jacobian or Hessian by every way that PyTorch offers, checked against second methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.higher_order.problems import Function, Problem, problem_of
from engine.higher_order.results import Matrix, Way
from engine.higher_order.spec import MatrixSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink
from engine.summarise import array_of

STEP = 6e-6
MOST_EIGENVALUES = 128
functional: Any = torch.autograd.functional
Maker = Callable[[Function, Tensor], Tensor]


def compute_matrix(spec: MatrixSpec, progress: ProgressSink) -> Matrix:
    """The matrix by the first way, and how far the others and the second methods are from it."""
    problem = problem_of(spec)
    value, error = attempt(lambda: problem.function(problem.x))
    ways = HESSIANS if spec.matrix == "Hessian" else JACOBIANS
    made, first_error = attempt(lambda: as_matrix(ways[0][2](problem.function, problem.x)))
    if value is None or made is None:
        return Matrix(
            x=array_of(problem.x), value=None if value is None else array_of(value), matrix=None, ways=(),
            error=error or first_error,
        )  # fmt: skip
    progress("the other ways", 0.4)
    is_hessian = spec.matrix == "Hessian"
    return Matrix(
        x=array_of(problem.x),
        value=array_of(value),
        matrix=array_of(made),
        ways=tuple(_tried(name, code, make, problem, made) for name, code, make in ways),
        zeros=int((made == 0).sum()),
        asymmetry=_largest(made - made.T) if is_hessian else None,
        eigenvalues=tuple(torch.linalg.eigvalsh(made.double()).tolist()) if is_hessian and _finite(made) else (),
        finite_difference=_against_differences(problem, made, is_hessian),
        closed_form=None if problem.closed_form is None else _largest(made - problem.closed_form(problem.x)),
        closed_form_text=problem.closed_form_text,
        names=problem.names,
    )


def as_matrix(found: Tensor) -> Tensor:
    """Rows are the outputs, also of a function that returns one number."""
    return found.detach().reshape(-1, found.shape[-1])


def rows_by_grad(function: Function, x: Tensor) -> Tensor:
    """One autograd.grad per output."""
    leaf = x.detach().requires_grad_()
    out = function(leaf).reshape(-1)
    return torch.stack([_row(one, leaf) for one in out])


def _row(one: Tensor, leaf: Tensor) -> Tensor:
    return torch.autograd.grad(one, leaf, retain_graph=True, materialize_grads=True)[0]


def batched_by_grad(function: Function, x: Tensor) -> Tensor:
    """All outputs in one autograd.grad: is_grads_batched maps over the rows of an identity."""
    leaf = x.detach().requires_grad_()
    out = function(leaf).reshape(-1)
    identity = torch.eye(out.numel(), dtype=out.dtype)
    return torch.autograd.grad(out, leaf, identity, is_grads_batched=True, materialize_grads=True)[0]


def twice_by_grad(function: Function, x: Tensor) -> Tensor:
    """autograd.grad with create_graph, then one autograd.grad per row."""
    leaf = x.detach().requires_grad_()
    gradient = torch.autograd.grad(function(leaf), leaf, create_graph=True)[0]
    return torch.stack([_row(one, leaf) for one in gradient])


JACOBIANS: tuple[tuple[str, str, Maker], ...] = (
    ("functional.jacobian", "torch.autograd.functional.jacobian(f, x)", functional.jacobian),
    (
        "jacobian, vectorized",
        "torch.autograd.functional.jacobian(f, x, vectorize=True)",
        lambda f, x: functional.jacobian(f, x, vectorize=True),
    ),
    ("jacrev", "torch.func.jacrev(f)(x)", lambda f, x: torch.func.jacrev(f)(x)),
    ("jacfwd", "torch.func.jacfwd(f)(x)", lambda f, x: torch.func.jacfwd(f)(x)),
    ("a grad per row", "torch.autograd.grad(f(x)[i], x, retain_graph=True)", rows_by_grad),
    ("one batched grad", "torch.autograd.grad(f(x), x, torch.eye(m), is_grads_batched=True)", batched_by_grad),
)
HESSIANS: tuple[tuple[str, str, Maker], ...] = (
    ("functional.hessian", "torch.autograd.functional.hessian(f, x)", functional.hessian),
    (
        "hessian, vectorized",
        "torch.autograd.functional.hessian(f, x, vectorize=True)",
        lambda f, x: functional.hessian(f, x, vectorize=True),
    ),
    ("torch.func.hessian", "torch.func.hessian(f)(x)", lambda f, x: torch.func.hessian(f)(x)),
    (
        "jacrev of jacrev",
        "torch.func.jacrev(torch.func.jacrev(f))(x)",
        lambda f, x: torch.func.jacrev(torch.func.jacrev(f))(x),
    ),
    (
        "jacfwd of jacfwd",
        "torch.func.jacfwd(torch.func.jacfwd(f))(x)",
        lambda f, x: torch.func.jacfwd(torch.func.jacfwd(f))(x),
    ),
    ("grad of grad, by rows", "torch.autograd.grad(g[i], x, retain_graph=True)", twice_by_grad),
)


def _tried(name: str, code: str, make: Maker, problem: Problem, first: Tensor) -> Way:
    found, error = attempt(lambda: as_matrix(make(problem.function, problem.x)))
    if found is not None and found.shape != first.shape:
        return Way(name=name, code=code)
    return Way(name=name, code=code, error=error, max_abs_difference=None if found is None else _largest(found - first))


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max()) if difference.numel() else 0.0


def _finite(matrix: Tensor) -> bool:
    return matrix.shape[0] <= MOST_EIGENVALUES and bool(torch.isfinite(matrix).all())


def _against_differences(problem: Problem, made: Tensor, is_hessian: bool) -> float | None:
    """Columns from central differences of the function, or of autograd's gradient, in the dtype of x if float64."""
    if problem.x.dtype != torch.float64:
        return None
    function = _gradient_of(problem.function) if is_hessian else problem.function
    found, _ = attempt(lambda: _differences(function, problem.x))
    return None if found is None or found.shape != made.shape else _largest(found - made)


def _gradient_of(function: Function) -> Function:
    def gradient(x: Tensor) -> Tensor:
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(function(leaf), leaf, materialize_grads=True)[0]

    return gradient


def _differences(function: Function, x: Tensor) -> Tensor:
    columns = []
    for place in range(x.numel()):
        step = torch.zeros_like(x)
        step[place] = STEP * max(1.0, abs(x[place].item()))
        moved = function(x + step) - function(x - step)
        columns.append(moved.detach().reshape(-1) / (2 * step[place]))
    return torch.stack(columns, 1)
