"""Micro-batches against the large batch: the factor of each way, and what is left in exact arithmetic."""

from __future__ import annotations

import pytest
import torch

from engine import run
from engine.gradients.results import Accumulated
from engine.gradients.spec import AccumulationSpec
from engine.models.build import build
from engine.models.spec import ConvNet, Embedding, Expression, Gpt, Mlp, ModelSpec, TwoTower

SMALL = Mlp(layers=2, depth=2, width=8)


def accumulated(model: ModelSpec, k: int) -> Accumulated:
    found = run(AccumulationSpec(model=model, micro_batches=k), inline=True)
    assert found.error is None
    return found


def rest(found: Accumulated) -> float:
    return dict(zip(found.ways, found.whole, strict=True))[found.right_way].relative


@pytest.mark.parametrize(
    "architecture", [SMALL, TwoTower(width=8), Embedding(vocabulary=20, width=8, tokens=6)], ids=repr
)
@pytest.mark.parametrize("loss", ["sum", "mean", "cross_entropy"])
@pytest.mark.parametrize("k", [1, 4, 3])
def test_the_right_way_is_equal_in_exact_arithmetic(architecture, loss, k):
    found = accumulated(ModelSpec(architecture=architecture, batch=8, loss=loss, dtype="float64"), k)
    assert sum(found.sizes) == 8
    assert rest(found) < 1e-13


def test_a_mean_is_k_times_too_long_unless_divided():
    found = accumulated(ModelSpec(architecture=SMALL, batch=8, loss="mean", dtype="float64"), 4)
    factors = {way: whole.norm_b / whole.norm_a for way, whole in zip(found.ways, found.whole, strict=True)}
    assert factors["loss as it is"] == pytest.approx(4)
    assert factors["loss / k"] == pytest.approx(1)
    assert found.right_way == "loss / k"


def test_unequal_parts_need_their_share():
    found = accumulated(ModelSpec(architecture=SMALL, batch=8, loss="mean", dtype="float64"), 3)
    relative = {way: whole.relative for way, whole in zip(found.ways, found.whole, strict=True)}
    assert found.sizes == (3, 3, 2)
    assert found.right_way == "loss × its share"
    assert relative["loss / k"] > 1e-3
    assert relative["loss × its share"] < 1e-13


def test_the_accumulated_gradient_is_that_of_a_loop_by_hand():
    model = ModelSpec(architecture=SMALL, batch=6, loss="mean")
    found = accumulated(model, 3)
    built = build(model)
    for part in built.inputs["x"].split(2):
        built.model(part).mean().backward()
    row = next(row for row in found.rows[0] if row.name == "head.weight")
    assert row.norm_b == pytest.approx(float(built.model.get_parameter("head.weight").grad.norm()), rel=1e-6)
    whole = build(model)
    torch.autograd.backward(whole.model(whole.inputs["x"]).mean())
    assert row.norm_a == pytest.approx(float(whole.model.get_parameter("head.weight").grad.norm()), rel=1e-6)


@pytest.mark.parametrize(
    ("architecture", "word"),
    [
        (ConvNet(layers=1, channels=8, image_size=8, classes=5), "BatchNorm"),
        (Gpt(layers=1, heads=2, width=16, sequence=4, vocabulary=20, dropout=0.5), "Dropout"),
    ],
)
def test_what_looks_at_the_whole_batch_or_draws_is_named_and_gone_in_eval(architecture, word):
    training = accumulated(ModelSpec(architecture=architecture, batch=8, dtype="float64"), 4)
    assert [note.split(" ")[0].rstrip(":") for note in training.notes] == [word]
    assert rest(training) > 1e-3
    evaluating = accumulated(ModelSpec(architecture=architecture, batch=8, dtype="float64", train=False), 4)
    assert evaluating.notes == ()
    assert rest(evaluating) < 1e-12


def test_what_cannot_be_divided_is_refused_in_words():
    with pytest.raises(ValueError, match="must not exceed the batch of 4; received 5"):
        AccumulationSpec(model=ModelSpec(), micro_batches=5)
    with pytest.raises(ValueError, match="received an expression"):
        AccumulationSpec(model=ModelSpec(architecture=Expression()), micro_batches=1)
