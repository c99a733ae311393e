"""Clipping against the formulas by hand."""

from __future__ import annotations

import math

import msgspec
import pytest
import torch

from engine import run
from engine.figures.arrays import array
from engine.gradients.results import Clipped
from engine.gradients.spec import ClippingSpec
from engine.models.spec import Embedding, Expression, Mlp, ModelSpec
from tests.gradients.references import by_autograd

MODEL = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8, in_features=8))


def clipped(**settings: object) -> Clipped:
    return run(ClippingSpec(**({"model": MODEL} | settings)), inline=True)


def flat(norm_type: str = "2") -> tuple[dict[str, torch.Tensor], float]:
    grads = {name: grad for name, grad in by_autograd(MODEL).items() if grad is not None}
    total = torch.cat([grad.double().flatten() for grad in grads.values()])
    return grads, float(torch.linalg.vector_norm(total, float(norm_type)))


@pytest.mark.parametrize("norm_type", ["1", "2", "inf"])
@pytest.mark.parametrize("max_norm", [0.0, 0.1, 1.0, 1e6])
def test_by_norm_every_gradient_is_multiplied_by_the_same_factor(norm_type, max_norm):
    found, (grads, total) = clipped(norm_type=norm_type, max_norm=max_norm), flat(norm_type)
    factor = min(1.0, max_norm / (total + 1e-6))
    assert found.total_norm == pytest.approx(total, rel=1e-5)
    assert found.coefficient == pytest.approx(factor, rel=1e-5)
    assert found.total_after_norm == pytest.approx(total * factor, rel=1e-5)
    for row in found.rows:
        assert row.norm_after_norm == pytest.approx(row.norm * factor, rel=1e-5, abs=1e-12)
        after = array(row.after_norm.values)
        assert torch.allclose(torch.tensor(after), grads[row.name].double() * factor, rtol=1e-5)
    if max_norm:
        assert found.cosine_norm == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("limit", [0.0, 0.05, 0.5, 1e6])
def test_by_value_every_element_is_cut(limit):
    found, (grads, _) = clipped(clip_value=limit), flat()
    expected = {name: grad.clamp(-limit, limit) for name, grad in grads.items()}
    for row in found.rows:
        assert torch.allclose(torch.tensor(array(row.after_value.values)), expected[row.name].double(), rtol=1e-6)
        assert row.clipped_share == pytest.approx(float((grads[row.name].abs() > limit).double().mean()))
    before = torch.cat([grad.double().flatten() for grad in grads.values()])
    after = torch.cat([grad.double().flatten() for grad in expected.values()])
    if limit:
        assert found.cosine_value == pytest.approx(float(before @ after / before.norm() / after.norm()), rel=1e-6)
    else:
        assert found.cosine_value is None


def test_foreach_changes_nothing_and_a_scaled_loss_scales_the_norm():
    assert clipped().foreach_difference == 0
    assert clipped(loss_scale=8.0).total_norm == pytest.approx(8 * flat()[1], rel=1e-5)


@pytest.mark.parametrize("poison", ["nan", "inf"])
def test_one_bad_element_spoils_every_gradient_by_norm_and_one_by_value(poison):
    found = clipped(poison=poison)
    assert not math.isfinite(found.total_norm)
    if poison == "nan":
        assert all(row.after_norm.nans == row.after_norm.numel for row in found.rows)
        assert [row.name for row in found.rows if row.after_value.non_finite] == [found.rows[0].name]
    else:
        assert found.coefficient == 0
        assert found.rows[0].after_norm.nans == 1  # inf * 0
        assert all(row.after_norm.zeros == row.after_norm.numel for row in found.rows[1:])
        assert not any(row.after_value.non_finite for row in found.rows)
    refused = clipped(poison=poison, error_if_nonfinite=True)
    assert refused.norm_error.type == "RuntimeError"
    assert "non-finite, so it cannot be clipped" in refused.norm_error.message
    assert refused.total_norm is None
    assert all(row.after_norm is None and row.after_value is not None for row in refused.rows)


def test_a_sparse_gradient_is_refused_in_pytorchs_words_without_its_kernel_table():
    found = clipped(model=ModelSpec(architecture=Embedding(vocabulary=20, width=8, tokens=6, sparse=True)))
    assert "linalg_vector_norm" in found.norm_error.message
    assert "registered at" not in found.norm_error.message


def test_the_leaves_of_an_expression_are_clipped_and_a_failed_backward_has_none():
    found = clipped(model=ModelSpec(architecture=Expression(name="shared_leaf")), max_norm=0.5)
    assert found.total_after_norm == pytest.approx(0.5, rel=1e-4)
    failed = clipped(model=ModelSpec(grad_mode="detach"))
    assert failed.error is not None
    assert failed.rows == ()


@pytest.mark.parametrize("norm_type", ["1", "2", "inf"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_totals_are_what_get_total_norm_gives_in_the_models_dtype(dtype, norm_type):
    model = msgspec.structs.replace(MODEL, dtype=dtype)
    grads = {name: grad for name, grad in by_autograd(model).items() if grad is not None}
    holders = [torch.zeros_like(grad) for grad in grads.values()]
    found = clipped(model=model, norm_type=norm_type, max_norm=0.7, clip_value=0.05)
    for clip, total in (("norm", found.total_after_norm), ("value", found.total_after_value)):
        for holder, grad in zip(holders, grads.values(), strict=True):
            holder.grad = grad.clone()
        if clip == "norm":
            before = torch.nn.utils.clip_grad_norm_(holders, 0.7, norm_type=float(norm_type))
            assert found.total_norm == before.item()
            assert found.coefficient == min(1.0, (0.7 / (before + 1e-6)).item())
        else:
            torch.nn.utils.clip_grad_value_(holders, 0.05)
        assert total == torch.nn.utils.get_total_norm([one.grad for one in holders], float(norm_type)).item()
