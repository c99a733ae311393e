"""Sentences about eigenvalues and about methods that agree, against descents that are really run."""

from __future__ import annotations

import msgspec
import pytest
import torch

from engine import run
from engine.figures.higher_order_words import agreement_words, descent_words, doubt_words, eigenvalue_words, powers
from engine.higher_order.problems import problem_of
from engine.higher_order.results import Curvature, Growth, Iteration, Order
from engine.higher_order.spec import CurvatureSpec, DerivativeSpec


def curvature(*exact: float, value: float, converged: bool = True) -> Curvature:
    return Curvature(n=len(exact), iterations=(Iteration(value, 0.0),), converged=converged, exact=exact)


def test_no_step_is_stable_on_the_default_and_descent_does_diverge_there():
    spec = CurvatureSpec()
    found = run(spec, inline=True)
    assert "No step of gradient descent is stable" in eigenvalue_words(found, spec.dtype)
    problem = problem_of(spec)
    hessian = torch.func.hessian(problem.function)(problem.x).detach()
    away = torch.linalg.eigh(hessian).eigenvectors[:, 0].clone()
    for _ in range(60):
        away -= 0.1 * (hessian @ away)
    assert away.norm() > 1e3


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_without_a_negative_eigenvalue_the_step_is_the_one_where_descent_turns(share):
    words = descent_words(curvature(0.0, 1.0, 4.0, value=4.0), "float64")
    assert "stable below a step of **0.500**" in words
    assert (abs(1 - 0.5 * share * 4.0) < 1) == (share < 1)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (curvature(-1e-14, 2.0, value=2.0), "stable below a step of **1.00**"),
        (curvature(-3.0, 2.0, value=-3.0), "No step"),
        (curvature(value=-3.0), "No step"),
        (curvature(value=2.0), "is not known here"),
    ],
)
def test_rounding_is_no_negative_eigenvalue_and_without_the_spectrum_only_the_direction_is_known(found, said):
    assert said in descent_words(found, "float64")


def test_equal_eigenvalues_of_opposite_sign_are_named():
    spec = CurvatureSpec(function="product", n=2)
    words = eigenvalue_words(run(spec, inline=True), spec.dtype)
    assert "of equal size and opposite sign" in words
    assert "not converged yet" not in words
    slow = eigenvalue_words(curvature(-1.9, 2.0, value=2.0, converged=False), "float64")
    assert "95.0% of its size and of opposite sign" in slow


def test_a_prediction_tells_how_far_two_fits_are_apart():
    grown = Growth(
        name="w", sizes=(10, 20, 40, 80), peak_bytes=(1, 2, 4, 8), seconds=(1.0, 1.0, 1.0, 2.0),
        bytes_exponent=1.0, seconds_exponent=0.3,
    )  # fmt: skip
    assert powers(grown) == pytest.approx((0.3, 1.0))
    assert powers(msgspec.structs.replace(grown, seconds_exponent=None)) is None


def order(value: float, jvp: float | None, differences: float | None) -> Order:
    return Order(order=1, outcome="value", value=value, forward_mode=jvp, finite_difference=differences)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((1.0, 1.0, 1.0 + 1e-5), "agree"),
        ((float("nan"), 0.0, -3.29), "none agree"),
        ((float("nan"), 2.0, 2.0), "autograd disagrees"),
        ((2.0, 1.0, 2.0), "jvp disagrees"),
        ((0.0, 0.0, 0.5), "differences disagree"),
        ((1.0, 2.0, None), "autograd and jvp disagree"),
        ((1.0, None, 1.0), "no second method"),
    ],
)
def test_the_method_that_disagrees_is_named(values, said):
    assert agreement_words(order(*values), "float64") == said
    assert bool(doubt_words(order(*values), "f′", "float64")) == (said not in ("agree", "no second method"))


def test_sinc_at_zero_is_marked_where_no_two_methods_agree():
    """sinc(x) = sin(pi x) / (pi x): its fourth derivative at 0 is pi**4 / 5, which none of them finds."""
    spec = DerivativeSpec(function="typed", expression="sinc(x)", order=4, x=0.0)
    last = run(spec, inline=True).orders[-1]
    assert last.reference != pytest.approx(torch.pi**4 / 5)
    assert agreement_words(last, spec.dtype) != "agree"
    assert "f⁗ at x" in doubt_words(last, "f⁗", spec.dtype)
