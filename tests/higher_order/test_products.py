"""Hessian-vector products: every way against the Hessian by hand, bytes by the allocator, refusals, eigenvalues."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from engine import run
from engine.higher_order.allocated import peak_bytes
from engine.higher_order.experiment import price
from engine.higher_order.functions import ProductFunction
from engine.higher_order.measure import fitted_exponent
from engine.higher_order.problems import problem_of
from engine.higher_order.products import FULL, PRODUCTS
from engine.higher_order.spec import LARGEST_FULL_BYTES, CurvatureSpec, MatrixSpec, ProductSpec

FUNCTIONS = get_args(ProductFunction)
CLOSED = [name for name in FUNCTIONS if "network" not in name]


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("function", CLOSED)
def test_every_way_is_the_hessian_by_hand_times_v(function, name):
    problem = problem_of(MatrixSpec(function=function, n=11))
    v = torch.linspace(-1, 2, 11, dtype=torch.float64)
    wanted = problem.closed_form(problem.x) @ v
    torch.testing.assert_close(PRODUCTS[name][1](problem.function, problem.x, v), wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", PRODUCTS)
def test_every_way_on_a_network_agrees_with_differences_of_the_gradient(name):
    problem = problem_of(ProductSpec(n=40))
    v = torch.linspace(-1, 1, problem.x.numel(), dtype=torch.float64)
    gradient, step = torch.func.grad(problem.function), 1e-6
    wanted = (gradient(problem.x + step * v) - gradient(problem.x - step * v)) / (2 * step)
    torch.testing.assert_close(PRODUCTS[name][1](problem.function, problem.x, v), wanted, rtol=1e-6, atol=1e-7)


def test_a_relu_layer_has_product_zero_and_a_tanh_layer_has_not():
    """pytorch/pytorch's own numbers for W from seed 3."""
    v = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    for function, wanted in (("ReLU layer", [0.0, 0.0, 0.0]), ("tanh layer", [-0.607, -0.12691, -0.163858])):
        problem = problem_of(MatrixSpec(function=function, point=(0.5, -1.0, 2.0), seed=3))
        for _, multiply in PRODUCTS.values():
            product = multiply(problem.function, problem.x, v)
            torch.testing.assert_close(product, torch.tensor(wanted, dtype=torch.float64), rtol=0, atol=1e-6)


def test_forward_over_reverse_is_refused_by_mse_loss():
    problem = problem_of(ProductSpec(function="tanh network, mse_loss", n=20))
    with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
        PRODUCTS["forward over reverse"][1](problem.function, problem.x, torch.ones_like(problem.x))


def test_the_peak_is_what_the_allocator_held_at_once():
    def two_then_one():
        first = torch.ones(1000, dtype=torch.float64)
        second = first + 1
        del first
        return second.sum()

    assert 16_000 <= peak_bytes(two_then_one) <= 16_000 + 1024
    assert peak_bytes(lambda: None) == 0


def test_memory_that_lived_before_counts_as_nothing():
    large = [torch.ones(100_000, dtype=torch.float64)]
    assert peak_bytes(lambda: (large.clear(), torch.ones(1000, dtype=torch.float64))) <= 8000 + 1024


def test_a_power_is_fitted_to_sizes():
    assert fitted_exponent([10, 20, 40], [300, 1200, 4800]) == pytest.approx(2.0)
    assert fitted_exponent([10, 20], [1, 2]) is None
    assert fitted_exponent([10, 20, 40], [1, 0, 2]) is None


@pytest.mark.slow
def test_a_measured_run_has_every_way_with_its_bytes_and_error():
    found = run(ProductSpec(n=60, rounds=5), inline=True)
    assert found.n == 55
    assert found.hessian_bytes == 55 * 55 * 8
    assert [one.name for one in found.products] == list(PRODUCTS)
    assert all(one.seconds > 0 and one.peak_bytes > 0 and one.max_abs_error < 1e-10 for one in found.products)
    assert found.product(FULL).peak_bytes > found.hessian_bytes
    assert found.comparison.names == tuple(PRODUCTS)
    grown = {one.name: one for one in found.growth}
    assert grown["double backward"].bytes_exponent < 1.3 < grown[FULL].bytes_exponent


@pytest.mark.slow
def test_a_large_hessian_is_refused_with_its_bytes_and_the_products_run():
    found = run(ProductSpec(function="logsumexp", n=50_000, rounds=5), inline=True)
    assert found.hessian_bytes == 50_000**2 * 8
    assert str(50_000**2 * 8) in found.full_refused
    assert found.product(FULL).reason == found.full_refused
    assert found.product(FULL).seconds is None
    assert found.product("double backward").max_abs_error < 1e-8
    assert found.full_estimated_s == pytest.approx(50_000 * found.product("double backward").seconds)
    assert [one.name for one in found.growth] == ["double backward", "forward over reverse"]


def test_float32_is_judged_against_float64():
    exact = problem_of(ProductSpec(n=40))
    rounded = problem_of(ProductSpec(n=40, dtype="float32"))
    assert rounded.x.dtype == torch.float32
    assert 0 < (rounded.x.double() - exact.x).abs().max() < 1e-6


def test_the_price_foresees_the_full_hessian_and_the_safe_way_of_prod():
    fits = int((LARGEST_FULL_BYTES / 8) ** 0.5)
    assert price(ProductSpec(n=fits)).predicted_bytes > 4 * 8 * fits**2 * 0.99
    assert price(ProductSpec(function="product", n=200_000)).predicted_bytes > 200_000**2 * 8


@pytest.mark.parametrize("function", FUNCTIONS)
def test_power_iteration_ends_at_the_largest_eigenvalue(function):
    found = run(CurvatureSpec(function=function, n=20, steps=300), inline=True)
    assert found.error is None
    if found.converged:
        assert found.eigenvalue == pytest.approx(found.largest, rel=1e-6, abs=1e-12)
    else:
        assert found.expected_rate > 0.9


def test_a_flat_function_ends_at_once():
    found = run(CurvatureSpec(function="ReLU layer", n=10), inline=True)
    assert (len(found.iterations), found.eigenvalue, found.converged) == (1, 0.0, True)
    assert found.expected_rate is None


def test_a_large_hessian_is_not_made_to_compare():
    found = run(CurvatureSpec(function="quadratic form", n=2000, steps=5), inline=True)
    assert found.exact == ()
    assert "2000 x 2000" in found.not_exact
