"""find_curvature: power iteration on Hessian-vector products, against the full Hessian's eigenvalues."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from engine.higher_order.problems import Problem, direction, problem_of
from engine.higher_order.results import Curvature, Iteration
from engine.higher_order.spec import CurvatureSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

functional: Any = torch.autograd.functional
MOST_EXACT = 400
"""Entries of x up to which all eigenvalues are computed to compare with."""


def find_curvature(spec: CurvatureSpec, progress: ProgressSink) -> Curvature:
    """Steps of v <- Hv / |Hv| with the gradient's graph kept, and the exact eigenvalues where n is small."""
    problem = problem_of(spec)
    leaf = problem.x.detach().requires_grad_()
    loss = problem.function(leaf)
    gradient = torch.autograd.grad(loss, leaf, create_graph=True)[0]
    steps, error = attempt(lambda: _iterate(spec, gradient, leaf, progress))
    found, converged = steps or ([], False)
    exact, not_exact = _exact(problem)
    return Curvature(
        n=leaf.numel(),
        iterations=tuple(found),
        converged=converged,
        exact=exact,
        not_exact=not_exact,
        gradient_norm=float(torch.linalg.vector_norm(gradient.detach())),
        loss=float(loss.detach()),
        error=error,
    )


def _iterate(
    spec: CurvatureSpec, gradient: Tensor, leaf: Tensor, progress: ProgressSink
) -> tuple[list[Iteration], bool]:
    v = direction(leaf, spec.seed)
    v = v / torch.linalg.vector_norm(v)
    found: list[Iteration] = []
    for step in range(spec.steps):
        progress(f"product {step + 1} of {spec.steps}", step / spec.steps)
        product = torch.autograd.grad(gradient, leaf, v, retain_graph=True, materialize_grads=True)[0]
        eigenvalue = float(torch.dot(v, product))
        residual = float(torch.linalg.vector_norm(product - eigenvalue * v))
        found.append(Iteration(eigenvalue, residual))
        length = torch.linalg.vector_norm(product)
        if not math.isfinite(eigenvalue) or length == 0 or residual <= spec.tolerance * abs(eigenvalue):
            return found, math.isfinite(eigenvalue)
        v = product / length
    return found, False


def _exact(problem: Problem) -> tuple[tuple[float, ...], str]:
    n = problem.x.numel()
    if n > MOST_EXACT:
        return (), f"The full Hessian is made up to n = {MOST_EXACT}; this one has {n} x {n} entries."
    hessian = functional.hessian(problem.function, problem.x).double()
    if not torch.isfinite(hessian).all():
        return (), "The full Hessian has entries that are not finite."
    return tuple(torch.linalg.eigvalsh(hessian).tolist()), ""
