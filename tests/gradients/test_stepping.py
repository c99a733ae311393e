"""What steps after zero_grad do, against the optimizers' formulas by hand."""

from __future__ import annotations

import pytest
import torch

from engine import run
from engine.gradients.results import Stepped, Way
from engine.gradients.spec import ZeroGradSpec
from engine.models.build import build
from engine.models.spec import Expression, Mlp, ModelSpec
from tests.gradients.references import by_autograd

MODEL = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8, in_features=8))


def stepped(**settings: object) -> Stepped:
    found = run(ZeroGradSpec(**({"model": MODEL} | settings)), inline=True)
    assert found.error is None
    return found


def way(found: Stepped, name: str) -> Way:
    return next(one for one in found.ways if one.name == name)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_none_is_skipped_and_zeros_are_a_gradient(optimizer):
    found = stepped(optimizer=optimizer)
    none, zeros = way(found, "set_to_none=True"), way(found, "set_to_none=False")
    assert {row.grad for row in none.rows} == {"None"}
    assert {row.moved for row in none.rows} == {0.0}
    assert none.grad_bytes == 0
    assert {row.grad for row in zeros.rows} == {"zeros"}
    assert all(row.moved > 0 for row in zeros.rows)
    weights = sum(parameter.nbytes for parameter in build(MODEL).model.parameters())
    assert zeros.grad_bytes == weights
    if optimizer != "SGD":
        assert ({row.steps_counted for row in none.rows}, {row.steps_counted for row in zeros.rows}) == ({1}, {2})
    else:
        assert {row.steps_counted for row in zeros.rows} == {None}


def test_sgd_goes_on_by_momentum_and_decay():
    lr, momentum, decay = 0.01, 0.9, 0.1
    found = stepped(optimizer="SGD", learning_rate=lr, momentum=momentum, weight_decay=decay)
    grads, weights = by_autograd(MODEL), dict(build(MODEL).model.named_parameters())
    for row in way(found, "set_to_none=False").rows:
        weight = weights[row.name].detach().double()
        buffer = grads[row.name].double() + decay * weight
        weight = weight - lr * buffer
        assert row.moved == pytest.approx(float((lr * (momentum * buffer + decay * weight)).norm()), rel=1e-4)


def test_without_momentum_and_decay_zeros_move_nothing():
    found = stepped(optimizer="SGD", momentum=0.0, weight_decay=0.0)
    assert way(found, "set_to_none=False").moved == 0
    assert way(found, "not called").moved == pytest.approx(found.first_moved, rel=1e-4)


def test_adamw_on_zeros_by_hand():
    lr, decay, (b1, b2), eps = 0.01, 0.1, (0.9, 0.999), 1e-8
    found = stepped(optimizer="AdamW", learning_rate=lr, weight_decay=decay)
    grad = by_autograd(MODEL)["head.weight"].double()
    weight = dict(build(MODEL).model.named_parameters())["head.weight"].detach().double()
    m, v = (1 - b1) * grad, (1 - b2) * grad**2
    first = weight * (1 - lr * decay) - lr * (m / (1 - b1)) / ((v / (1 - b2)).sqrt() + eps)
    m, v = b1 * m, b2 * v
    second = first * (1 - lr * decay) - lr * (m / (1 - b1**2)) / ((v / (1 - b2**2)).sqrt() + eps)
    row = next(row for row in way(found, "set_to_none=False").rows if row.name == "head.weight")
    assert row.moved == pytest.approx(float((second - first).norm()), rel=1e-4)


def test_with_another_backward_both_ways_are_equal_and_not_clearing_adds_up():
    found = stepped(optimizer="SGD", momentum=0.0, weight_decay=0.0, learning_rate=0.0, backward_again=True)
    none, zeros, kept = (way(found, name) for name in ("set_to_none=True", "set_to_none=False", "not called"))
    assert [row.grad_norm for row in none.rows] == [row.grad_norm for row in zeros.rows]
    # lr 0 leaves the weights, so the second gradient equals the first and the sum is twice as long
    assert [row.grad_norm for row in kept.rows] == pytest.approx([2 * row.grad_norm for row in none.rows])


def test_an_expression_and_a_failed_backward():
    assert stepped(model=ModelSpec(architecture=Expression(name="shared_leaf"))).ways[0].rows[0].name == "a"
    failed = run(ZeroGradSpec(model=ModelSpec(grad_mode="detach")), inline=True)
    assert failed.ways == ()
    assert failed.error is not None


def test_unused_parameters_stay_without_a_gradient_after_zero_grad():
    found = stepped(model=ModelSpec(architecture=Mlp(layers=3, depth=1, width=8)), optimizer="AdamW")
    rows = {row.name: row for row in way(found, "set_to_none=False").rows}
    assert rows["layers.2.linear.weight"].grad == "None"
    assert rows["layers.2.linear.weight"].moved == 0
    assert rows["layers.0.linear.weight"].grad == "zeros"
    assert torch.is_grad_enabled()
