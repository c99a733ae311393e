"""The gradient of every leaf is what autograd.grad and torch.func give, and its numbers are those of the tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch

from engine import run
from engine.figures.arrays import array
from engine.gradients.results import Gradients
from engine.gradients.spec import GradientsSpec
from engine.models.shape import has_batch_norm
from engine.models.spec import (
    AnyArchitecture,
    ConvNet,
    Embedding,
    Expression,
    Gpt,
    Mlp,
    ModelSpec,
    ResNet,
    TwoTower,
)
from pages.backward.gradient_values_values import value_numbers
from tests.gradients.references import by_autograd, by_func
from tests.models.families import NETWORKS, RAISING, SOUND_EXPRESSIONS, one_of_each_class


def gradients(model: ModelSpec) -> Gradients:
    return run(GradientsSpec(model=model), inline=True)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.detach().to_dense()
    return dense.to(torch.complex128 if dense.is_complex() else torch.float64).flatten()


def assert_told(found: Gradients, expected: dict[str, torch.Tensor | None]) -> None:
    for name, grad in expected.items():
        row = found.row(name)
        assert row is not None
        if grad is None:
            assert row.gradient is None
            assert row.explanation
            continue
        assert row.gradient is not None
        finite = wide(grad)[wide(grad).isfinite()]  # a summary's norm is over finite elements
        assert row.gradient.norm == pytest.approx(float(finite.norm()), rel=1e-5, abs=1e-6)
        assert row.gradient.zeros == int((wide(grad) == 0).sum())
        if row.gradient.values is not None:
            assert np.allclose(
                array(row.gradient.values).reshape(-1), wide(grad).numpy(), rtol=1e-4, atol=1e-6, equal_nan=True
            )


def families(architectures: Iterable[AnyArchitecture]) -> list[object]:
    """Several of one class are slow, and so are those that take long."""
    return [
        pytest.param(one, marks=pytest.mark.slow) if isinstance(one, ResNet | Gpt | ConvNet) else one
        for one in one_of_each_class(architectures)
    ]


@pytest.mark.parametrize("architecture", families([*NETWORKS, *SOUND_EXPRESSIONS]), ids=repr)
def test_every_family_agrees_with_autograd_grad(architecture):
    model = ModelSpec(architecture=architecture)
    assert_told(gradients(model), by_autograd(model))


WITHOUT_FUNC = "oneDNN's fused LSTM, and a sparse gradient, have no torch.func form"


@pytest.mark.parametrize("architecture", families(NETWORKS), ids=repr)
def test_every_family_agrees_with_torch_func(architecture):
    if getattr(architecture, "sparse", False) or getattr(architecture, "fused", False):
        pytest.skip(WITHOUT_FUNC)
    # In eval: in train mode a batch norm writes its running mean, which torch.func does not let a gradient see.
    train = not has_batch_norm(architecture)
    model = ModelSpec(architecture=architecture, dtype="float64", loss="mean", train=train)
    found, expected = gradients(model), by_func(model)
    for name, grad in expected.items():
        row = found.row(name)
        assert row is not None
        assert (0.0 if row.gradient is None else row.gradient.norm) == pytest.approx(float(grad.norm()), rel=1e-9)


def test_leaves_come_in_forward_order_and_the_total_is_that_of_clip_grad_norm():
    model = ModelSpec(architecture=Mlp(layers=4, depth=2, width=8), input_requires_grad=True)
    found = gradients(model)
    names = [row.name for row in found.rows]
    assert names[0] == "x"
    assert names.index("layers.1.linear.weight") < names.index("head.weight") < names.index("layers.2.linear.weight")
    unused = found.row("layers.3.linear.bias")
    assert unused is not None
    assert unused.why == "unused"
    assert unused.ratio is None
    kept = [grad for name, grad in by_autograd(model).items() if grad is not None and name != "x"]
    assert found.total_norm == pytest.approx(float(torch.nn.utils.get_total_norm(kept)), rel=1e-6)
    assert found.rows[1].ratio == found.rows[1].gradient.norm / found.rows[1].value.norm


def test_a_tied_weight_is_one_leaf_with_two_names():
    row = gradients(ModelSpec(architecture=Gpt(layers=1, heads=2, width=16, sequence=8, vocabulary=50))).row(
        "tokens.weight"
    )
    assert row is not None
    assert row.aliases == ("head.weight",)
    assert row.uses == 2


def test_a_sparse_gradient_stores_a_row_per_lookup():
    row = gradients(ModelSpec(architecture=Embedding(vocabulary=20, width=8, tokens=6, sparse=True))).row(
        "table.weight"
    )
    assert row is not None
    assert row.gradient is not None
    assert (row.gradient.layout, row.stored, row.is_coalesced) == ("sparse_coo", 24, False)
    dense = gradients(ModelSpec(architecture=Embedding(vocabulary=20, width=8, tokens=6))).row("table.weight")
    assert dense is not None
    assert np.allclose(array(row.gradient.values), array(dense.gradient.values))


def test_frozen_and_unreached_leaves_say_why():
    model = ModelSpec(architecture=TwoTower(width=8), frozen=("blocks.0",))
    why = {row.name: row.why for row in gradients(model).rows}
    assert why["blocks.0.linear.weight"] == "frozen"
    assert why["auxiliary_head.weight"] == "no_path"
    assert why["left_tower.weight"] == ""


@pytest.mark.parametrize("name", RAISING)
def test_what_pytorch_refuses_is_kept_in_its_words(name):
    found = gradients(ModelSpec(architecture=Expression(name=name)))
    assert found.error is not None
    assert found.stage in ("forward", "backward")
    assert found.error.type == "RuntimeError"


def test_a_detached_loss_has_pytorchs_message_and_no_gradient():
    found = gradients(ModelSpec(grad_mode="detach"))
    assert "element 0 of tensors does not require grad and does not have a grad_fn" in found.error.message
    assert all(row.gradient is None and row.explanation for row in found.rows)


def test_infinite_gradients_are_counted():
    found = gradients(ModelSpec(architecture=Expression(name="where_sqrt")))
    (row,) = [row for row in found.rows if row.kind == "input"]
    assert row.gradient.nans + row.gradient.infinities >= 1
    assert math.isnan(found.total_norm)


def test_without_parameters_the_total_is_over_the_inputs():
    """(a * (a + 7)).sum() at a = 3: 2 a + 7 = 13, and 13 / 3 of its leaf."""
    found = gradients(ModelSpec(architecture=Expression(name="shared_leaf")))
    assert found.total_norm == 13
    ratio = next(number for number in value_numbers(found) if number.label == "Largest ratio")
    assert ratio.value == pytest.approx(13 / 3)
