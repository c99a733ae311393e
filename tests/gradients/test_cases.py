"""Public questions about gradients, with their measured values (torch 2.13)."""

from __future__ import annotations

import pytest

from engine import run
from engine.figures.arrays import array
from engine.gradients.spec import FiniteDifferenceSpec, GradientsSpec, ZeroGradSpec
from engine.models.spec import Embedding, Expression, ModelSpec


def values(name: str) -> dict[str, tuple[list, list]]:
    """Leaf -> (values, gradient)."""
    found = run(GradientsSpec(model=ModelSpec(architecture=Expression(name=name))), inline=True)
    rows = [row for row in found.rows if row.kind == "input" and row.gradient is not None]
    return {row.name: (array(row.value.values), array(row.gradient.values)) for row in rows}


def test_rows_of_an_unpacked_tensor_get_their_own_gradient_and_the_unused_row_zeros():
    # pytorch/pytorch#40884: p, q, r = m; (p * r).sum()
    m, grad = values("unbind_iter")["m"]
    assert grad[0].tolist() == m[2].tolist()
    assert grad[1].tolist() == [0.0] * m.shape[1]
    assert grad[2].tolist() == m[0].tolist()


def test_a_leaf_used_twice_gets_the_sum():
    # discuss.pytorch.org 24463: a * (a + 7) at 3 has gradient 13
    a, grad = values("shared_leaf")["a"]
    assert grad.tolist() == (2 * a + 7).tolist()
    assert 13.0 in grad.reshape(-1).tolist()


def test_a_complex_leaf_gets_the_conjugate_wirtinger_derivative():
    # jax-ml/jax#15872: |z|^2 at 3+4j gives 6+8j
    z, grad = values("complex_abs2")["z"]
    assert grad.reshape(-1)[0] == 6 + 8j
    assert grad.tolist() == (2 * z).tolist()
    checked = run(FiniteDifferenceSpec(model=ModelSpec(architecture=Expression(name="complex_abs2"))), inline=True)
    assert {entry.part for entry in checked.entries} == {"real", "imag"}
    assert all(entry.verdict == "agrees" for entry in checked.entries)
    at = {(entry.index, entry.part): entry.exact for entry in checked.entries}
    assert (at[(0,), "real"], at[(0,), "imag"]) == (6.0, 8.0)


def test_a_list_of_inputs_gives_each_its_slots():
    # szagoruyko/pytorchviz#49: cat([a, k, b, a]) * [1..7] with a constant of two elements, so a gets 1+6 and 2+7
    found = values("cat_list")
    assert found["a"][1].tolist() == [7.0, 9.0]
    assert found["b"][1].tolist() == [5.0]


def test_adam_refuses_a_sparse_gradient_in_its_words():
    # pytorch/pytorch#4666
    model = ModelSpec(architecture=Embedding(vocabulary=5, width=2, tokens=3, sparse=True), batch=1)
    found = run(ZeroGradSpec(model=model, optimizer="Adam"), inline=True)
    assert found.error is not None
    assert found.error.message == "Adam does not support sparse gradients, please consider SparseAdam instead"
    row = run(GradientsSpec(model=model), inline=True).row("table.weight")
    assert (row.gradient.layout, row.is_coalesced, row.stored) == ("sparse_coo", False, 3)


@pytest.mark.parametrize(
    ("mode", "message"), [("detach", "does not require grad"), ("no_grad", "does not require grad")]
)
def test_a_loss_without_a_graph_cannot_start_backward(mode, message):
    # ilia10000/dataset-distillation#3: detached output
    found = run(GradientsSpec(model=ModelSpec(grad_mode=mode)), inline=True)
    assert message in found.error.message
    assert {row.gradient for row in found.rows} == {None}
