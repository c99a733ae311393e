"""Jacobian and Hessian: all ways agree, closed forms, differences, and the public cases."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from engine import run
from engine.figures.arrays import array
from engine.higher_order.functions import VectorFunction
from engine.higher_order.spec import MatrixSpec

ASKED = [
    (matrix, function)
    for matrix in ("Hessian", "Jacobian")
    for function in get_args(VectorFunction)
    if (matrix, function) != ("Hessian", "softmax")
]


@pytest.mark.parametrize(("matrix", "function"), ASKED)
def test_all_ways_agree_with_each_other_and_with_a_second_method(matrix, function):
    found = run(MatrixSpec(matrix=matrix, function=function, n=9), inline=True)
    scale = max(1.0, float(np.abs(array(found.matrix)).max()))
    assert found.error is None
    assert found.finite_difference < 1e-7 * scale
    assert found.closed_form is None or found.closed_form < 1e-12 * scale
    works = [way for way in found.ways if way.error is None]
    assert all(way.max_abs_difference < 1e-12 * scale for way in works)
    refused = {way.name for way in found.ways} - {way.name for way in works}
    assert len(refused) == 0 or function == "tanh network, mse_loss"
    if matrix == "Hessian":
        assert found.asymmetry < 1e-12 * scale
        np.testing.assert_allclose(sum(found.eigenvalues), np.trace(array(found.matrix)), rtol=1e-9, atol=1e-9)


def test_the_hessian_of_a_relu_layer_is_zero_and_that_of_tanh_is_not():
    """pytorch/pytorch's own numbers for W from seed 3 at (0.5, -1, 2)."""
    point = (0.5, -1.0, 2.0)
    relu = run(MatrixSpec(function="ReLU layer", n=3, point=point, seed=3), inline=True)
    tanh = run(MatrixSpec(function="tanh layer", n=3, point=point, seed=3), inline=True)
    assert relu.zeros == 9
    assert np.abs(array(tanh.matrix)).sum() == pytest.approx(1.1236, abs=1e-6)
    product = array(tanh.matrix) @ np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(product, [-0.607, -0.12691, -0.163858], atol=1e-6)


def test_the_hessian_of_a_product_with_two_zeros():
    found = run(MatrixSpec(function="product", point=(2.0, 3.0, 0.0, 0.0)), inline=True)
    wanted = np.zeros((4, 4))
    wanted[2, 3] = wanted[3, 2] = 6.0
    np.testing.assert_array_equal(array(found.matrix), wanted)
    assert found.closed_form == 0.0
    assert found.asymmetry == 0.0


def test_rosenbrock_is_tridiagonal():
    found = run(MatrixSpec(function="Rosenbrock", n=10), inline=True)
    matrix = array(found.matrix)
    rows, columns = np.nonzero(matrix)
    assert np.abs(rows - columns).max() == 1
    assert found.zeros == 100 - 10 - 18


def test_a_network_names_the_parameter_of_every_column():
    found = run(MatrixSpec(function="ReLU network loss", n=20), inline=True)
    assert found.matrix.shape == (19, 19)
    assert (found.names[0], found.names[11], found.names[-1]) == ("0.weight[0]", "0.weight[11]", "2.bias[0]")
    assert [sum(name.startswith(one) for name in found.names) for one in ("0.w", "0.b", "2.w", "2.b")] == [12, 3, 3, 1]


def test_a_vector_has_no_hessian_and_the_words_say_so():
    typed = run(MatrixSpec(function="typed", expression="x * 2"), inline=True)
    assert typed.matrix is None
    assert "single" in typed.error.message or "one element" in typed.error.message
    with pytest.raises(ValueError, match="Jacobian"):
        MatrixSpec(function="softmax")


@pytest.mark.parametrize("text", ["2", "x[0]", "sum(x) < 1", "x[99]", "sum(detach(x))", "log(sum(x)) * nan"])
def test_odd_expressions_are_answered(text):
    for matrix in ("Hessian", "Jacobian"):
        found = run(MatrixSpec(function="typed", expression=text, matrix=matrix), inline=True)
        assert found.matrix is not None or found.error is not None


@pytest.mark.parametrize("point", [(1.0,), (1.0, float("nan")), (1e9, 1.0), tuple([1.0] * 300)])
def test_a_point_that_cannot_be_used_is_refused_in_words(point):
    with pytest.raises(ValueError, match=r"point.*received"):
        MatrixSpec(point=point)
