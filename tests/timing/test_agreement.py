"""Distances between results against hand arithmetic."""

from __future__ import annotations

import math

import msgspec
import pytest
import torch

from engine import run
from engine.models.spec import ModelSpec
from engine.timing.agreement import TOLERANCES, distance
from engine.timing.measured import DRAWN, rounded_to
from engine.timing.spec import TimingSpec
from engine.timing.variant import OperatorVariant, StepVariant


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


@pytest.mark.parametrize(
    ("variant", "dtypes"),
    [
        (OperatorVariant(), {torch.float32}),
        (OperatorVariant(dtype="bfloat16"), {torch.bfloat16}),
        (OperatorVariant(mode="autocast bfloat16"), {torch.float32, torch.bfloat16}),
        (StepVariant(model=ModelSpec(autocast="bfloat16")), {torch.float32, torch.bfloat16}),
        (StepVariant(model=ModelSpec(dtype="float64")), {torch.float64}),
    ],
)
def test_what_a_variant_rounds_to(variant, dtypes):
    assert rounded_to(variant) == dtypes


def test_operands_in_bfloat16_set_what_rounding_explains_of_a_float32_result():
    found = distance(one(1.00003), one(1.0), {torch.bfloat16})
    assert (found.verdict, found.tolerance) == ("equal up to rounding", TOLERANCES[torch.bfloat16])


def test_cross_entropy_of_bfloat16_logits_under_autocast_is_rounding():
    """Its result is in float32, 4e-5 from that of float32 logits: the eight bits of its operands."""
    wide = OperatorVariant(operator="cross_entropy", rows=64, columns=32, mode="autocast bfloat16")
    narrow = msgspec.structs.replace(wide, dtype="bfloat16")
    assert run(TimingSpec(a=wide, b=narrow, rounds=5), inline=True).agreement.verdict == "equal up to rounding"


def test_results_drawn_at_random_are_not_called_different():
    block = OperatorVariant(operator="gelu_block", rows=8, columns=16)
    other = msgspec.structs.replace(block, operator="gelu_block_eval")
    found = run(TimingSpec(a=block, b=other, rounds=5), inline=True)
    assert (found.agreement.verdict, found.agreement.reason) == ("not comparable", DRAWN)
