"""Distances between the gradients of two runs, against numpy in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine import run
from engine.gradients.distance import Sums, distance, distances
from engine.gradients.spec import DifferenceSpec
from engine.models.spec import Embedding, Expression, Gpt, Mlp, ModelSpec
from tests.gradients.references import by_autograd

DROPPING = Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.3)


@pytest.mark.parametrize("against", ["bfloat16 autocast", "float16 autocast", "float64", "another seed"])
def test_numbers_are_those_of_numpy(against):
    spec = DifferenceSpec(model=ModelSpec(architecture=Mlp(width=16), input_requires_grad=True), against=against)
    found, pair = run(spec, inline=True), [by_autograd(model) for model in spec.pair]
    flat = [{n: g.double().flatten().numpy() for n, g in one.items() if g is not None} for one in pair]
    assert [row.name for row in found.rows if not row.missing] == list(flat[0])
    for row in found.rows:
        a, b = flat[0][row.name], flat[1][row.name]
        assert row.cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-9)
        assert row.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-6, abs=1e-12)
        assert row.max_abs == pytest.approx(np.abs(b - a).max(), rel=1e-6, abs=1e-12)
    a, b = (np.concatenate(list(one.values())) for one in flat)
    assert found.whole.cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-9)
    assert found.whole.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-6)


def test_a_checkpoint_gives_the_same_bits_with_the_random_state_and_others_without():
    same = run(DifferenceSpec(model=ModelSpec(architecture=DROPPING), against="checkpoint"), inline=True)
    assert all(row.identical for row in same.rows)
    assert (same.whole.cosine, same.whole.relative, same.whole.max_abs) == (1.0, 0.0, 0.0)
    model = ModelSpec(architecture=DROPPING, preserve_rng_state=False)
    other = run(DifferenceSpec(model=model, against="checkpoint"), inline=True)
    assert not other.whole.identical
    assert other.whole.relative > 1e-2


def test_eval_differs_where_something_is_dropped():
    assert not run(DifferenceSpec(model=ModelSpec(architecture=DROPPING), against="eval"), inline=True).whole.identical
    assert run(DifferenceSpec(model=ModelSpec(), against="eval"), inline=True).whole.identical


def test_float64_differs_from_float32_by_rounding():
    found = run(DifferenceSpec(against="float64"), inline=True)
    assert 0 < found.whole.relative < 1e-5
    assert {(row.dtype_a, row.dtype_b) for row in found.rows} == {("float32", "float64")}


def test_two_other_models_compare_what_both_have():
    given = DifferenceSpec(
        model=ModelSpec(architecture=Mlp(layers=3, depth=3, width=8)),
        against="given",
        other=ModelSpec(architecture=Mlp(layers=3, depth=2, width=8, out_features=5)),
    )
    missing = {row.name: row.missing for row in run(given, inline=True).rows}
    assert missing["layers.2.linear.weight"] == "no gradient in B"
    assert missing["head.weight"] == "(10, 8) in A, (5, 8) in B"
    assert missing["layers.0.linear.weight"] == ""


@pytest.mark.parametrize(
    "arguments",
    [
        {"against": "checkpoint", "model": ModelSpec(architecture=Embedding())},
        {"against": "another seed", "model": ModelSpec(architecture=Expression())},
        {"against": "given"},
        {"against": "float64", "other": ModelSpec()},
        {"against": "bfloat16 autocast", "model": ModelSpec(dtype="float64")},
    ],
)
def test_a_change_that_does_not_fit_is_refused_in_words(arguments):
    with pytest.raises(ValueError, match=r"received .*\. "):
        DifferenceSpec(**arguments)


def test_non_finite_zero_sparse_and_complex_gradients_have_a_distance():
    sums = Sums()
    bad = distance("bad", torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]), sums)
    assert math.isnan(bad.cosine)
    assert math.isnan(bad.relative)
    assert math.isnan(sums.distance("all").max_abs)
    nothing = distance("zero", torch.zeros(3), torch.zeros(3), Sums())
    assert (nothing.cosine, nothing.relative, nothing.identical) == (None, 0.0, True)
    grown = distance("grown", torch.zeros(3), torch.ones(3), Sums())
    assert (grown.cosine, grown.relative) == (None, math.inf)
    dense = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    assert distance("sparse", dense.to_sparse(), dense, Sums()).identical
    turned = distance("complex", torch.tensor([1 + 0j]), torch.tensor([0 + 1j]), Sums())
    assert (turned.cosine, turned.max_abs) == (0.0, 1.0)
    assert distances({"a": None, "b": torch.ones(2)}, {"b": torch.ones(3)})[0][0].missing == "no gradient in A and B"


def test_nan_with_the_same_bits_is_identical_and_minus_zero_is_not():
    nan = torch.tensor([math.nan])
    assert distance("nan", nan, nan.clone(), Sums()).identical
    assert not distance("zero", torch.tensor([0.0]), torch.tensor([-0.0]), Sums()).identical
