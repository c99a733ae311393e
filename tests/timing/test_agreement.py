"""Distances between results against hand arithmetic."""

from __future__ import annotations

import math

import pytest
import torch

from engine.timing.agreement import TOLERANCES, distance


def one(*values: float, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    return {"result": torch.tensor(values, dtype=dtype)}


def test_equal_bits_are_identical():
    assert distance(one(1.0, math.inf), one(1.0, math.inf)).verdict == "identical"


def test_the_largest_distance_is_relative_to_the_largest_value():
    found = distance(one(1.0, 8.5), one(1.0, 8.0))
    assert (found.verdict, found.absolute, found.relative) == ("different", 0.5, 0.0625)


def test_the_last_bit_is_rounding():
    found = distance(one(1.0 + 2**-23), one(1.0))
    assert (found.verdict, found.absolute) == ("equal up to rounding", 2**-23)


def test_the_coarser_dtype_sets_what_rounding_explains():
    found = distance(one(1.01, dtype=torch.bfloat16), one(1.0, dtype=torch.float64))
    assert found.tolerance == TOLERANCES[torch.bfloat16]
    assert found.verdict == "equal up to rounding"
    assert distance(one(1.01), one(1.0, dtype=torch.float64)).verdict == "different"


def test_a_value_that_is_not_finite_on_one_side_only_is_a_difference():
    for value in (math.nan, math.inf):
        found = distance(one(value), one(1.0))
        assert (found.verdict, found.absolute) == ("different", None)
        assert "finite" in found.reason


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"result": torch.zeros(3)}, "result is (2,) here and (3,) there"),
        ({"loss": torch.zeros(2)}, "one gives result, the other loss"),
        ({"result": torch.zeros(2), "a": torch.zeros(1), "b": torch.zeros(1)}, "the other result, a and 1 more"),
    ],
)
def test_other_shapes_and_names_cannot_be_compared(other, words):
    found = distance(one(1.0, 2.0), other)
    assert found.verdict == "not comparable"
    assert words in found.reason


def test_the_worst_of_several_tensors_counts():
    a = {"loss": torch.tensor(1.0), "gradient 0": torch.tensor([2.0, 0.0])}
    b = {"loss": torch.tensor(1.0), "gradient 0": torch.tensor([4.0, 0.0])}
    found = distance(a, b)
    assert (found.absolute, found.relative) == (2.0, 0.5)
