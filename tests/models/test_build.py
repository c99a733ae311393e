"""Building and running: seeds, outputs, losses, dtypes, expressions against values worked out by hand."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
import torch
from torch import nn

from engine.models.build import build
from engine.models.modules import module_for
from engine.models.recurrent import LstmByHand, RnnByHand
from engine.models.spec import (
    EXPRESSIONS,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)
from tests.models.families import CELLS, NETWORKS, RAISING, SOUND_EXPRESSIONS, label
from tests.models.runs import assert_same, gradients, node_names, nodes_behind


@pytest.mark.parametrize("architecture", [*NETWORKS, *SOUND_EXPRESSIONS], ids=label)
def test_the_same_seed_gives_the_same_numbers(architecture):
    spec = ModelSpec(architecture=architecture, seed=5)
    (loss, first), (again, second) = gradients(spec), gradients(spec)
    assert torch.equal(loss, again)
    assert_same(first, second)


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_another_seed_gives_other_numbers(architecture):
    first, second = (gradients(ModelSpec(architecture=architecture, seed=seed))[0] for seed in (1, 2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_the_forward_is_reseeded(architecture):
    """A second forward of the same Built draws the same dropout."""
    built = build(ModelSpec(architecture=architecture))
    assert torch.equal(built.loss(built.forward()), built.loss(built.forward()))


@pytest.mark.parametrize("loss", ["sum", "mean", "cross_entropy"])
@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_every_loss_of_every_network_trains_it(architecture, loss):
    value, found = gradients(ModelSpec(architecture=architecture, loss=loss))
    assert value.shape == ()
    assert torch.isfinite(value)
    assert any(g is not None and g.abs().max() > 0 for g in found.values())


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_dtype_reaches_parameters_inputs_and_outputs(architecture, dtype):
    built = build(ModelSpec(architecture=architecture, dtype=dtype))
    wanted = getattr(torch, dtype)
    assert {p.dtype for p in built.model.parameters()} == {wanted}
    assert {x.dtype for x in built.inputs.values()} <= {wanted, torch.int64}
    outputs = built.forward()
    assert {x.dtype for x in (outputs.values() if isinstance(outputs, dict) else [outputs])} == {wanted}


@pytest.mark.parametrize("architecture", [a for a in NETWORKS if not isinstance(a, Gpt | Embedding)], ids=label)
def test_input_gradient_when_asked_for(architecture):
    plain = build(ModelSpec(architecture=architecture))
    asked = build(ModelSpec(architecture=architecture, input_requires_grad=True))
    for name, x in asked.inputs.items():
        assert x.is_leaf
        assert x.requires_grad
        assert torch.equal(x, plain.inputs[name])
        assert not plain.inputs[name].requires_grad
    asked.loss(asked.forward()).backward()
    assert all(x.grad is not None for x in asked.inputs.values())


def test_losses_are_what_their_names_say():
    spec = ModelSpec(architecture=Gpt(layers=1, heads=2, width=16, sequence=8, vocabulary=50), loss="cross_entropy")
    built = build(spec)
    logits = built.forward()
    picked = logits.log_softmax(-1).gather(-1, built.target.unsqueeze(-1))
    torch.testing.assert_close(built.loss(logits), -picked.mean())
    for name in ("sum", "mean"):
        built = build(msgspec.structs.replace(spec, loss=name))
        outputs = built.forward()
        assert torch.equal(built.loss(outputs), getattr(outputs, name)())


def test_the_auxiliary_head_counts_only_when_asked():
    _, without = gradients(ModelSpec(architecture=TwoTower()))
    _, with_it = gradients(ModelSpec(architecture=TwoTower(use_auxiliary_loss=True)))
    assert without["auxiliary_head.weight"] is None
    assert with_it["auxiliary_head.weight"] is not None
    built = build(ModelSpec(architecture=TwoTower(use_auxiliary_loss=True)))
    outputs = built.forward()
    assert outputs.keys() == {"logits", "auxiliary"}
    assert torch.equal(built.loss(outputs), outputs["logits"].sum() + outputs["auxiliary"].sum())


def test_unused_layers_and_the_unused_skip_get_no_gradient():
    _, found = gradients(ModelSpec(architecture=Mlp(layers=4, depth=2)))
    assert {name for name, g in found.items() if g is None} == {
        "layers.2.linear.weight",
        "layers.2.linear.bias",
        "layers.3.linear.weight",
        "layers.3.linear.bias",
        "x",
    }
    _, found = gradients(ModelSpec(architecture=DynamicBlock(use_skip=False)))
    assert found["blocks.0.skip.weight"] is None
    assert found["blocks.0.linear.weight"] is not None


def test_residual_adds_one_node_per_layer_of_equal_width():
    built = [build(ModelSpec(architecture=Mlp(layers=4, depth=4, residual=r))) for r in (True, False)]
    added = node_names(built[0].forward()) - node_names(built[1].forward())
    assert added == {"AddBackward0": 3}  # the first layer changes the width


def test_tied_gradient_is_the_sum_over_the_uses():
    spec = ModelSpec(architecture=TiedLoop(steps=3, width=4))
    built = build(spec)
    weights = [built.model.step.linear.weight.detach().clone().requires_grad_() for _ in range(3)]
    x = built.inputs["x"]
    for weight in weights:
        x = torch.tanh(nn.functional.linear(x, weight, built.model.step.linear.bias.detach()))
    x.sum().backward()
    _, found = gradients(spec)
    torch.testing.assert_close(found["step.linear.weight"], sum(w.grad for w in weights))


def test_embedding_looks_rows_up_twice_and_keeps_its_gradient_sparse_when_asked():
    dense, sparse = (build(ModelSpec(architecture=Embedding(vocabulary=20, tokens=6, sparse=s))) for s in (False, True))
    ids = sparse.inputs["ids"]
    assert len(ids.unique()) < ids.numel()
    for built in (dense, sparse):
        built.loss(built.forward()).backward()
    gradient = sparse.model.table.weight.grad
    assert gradient.layout is torch.sparse_coo
    assert gradient._nnz() == ids.numel()  # not coalesced: a row looked up twice is there twice
    torch.testing.assert_close(gradient.to_dense(), dense.model.table.weight.grad)


def test_explicit_attention_equals_sdpa():
    small = Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50)
    outputs = [
        build(ModelSpec(architecture=msgspec.structs.replace(small, attention=a))).forward()
        for a in ("sdpa", "explicit")
    ]
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("tied", [True, False])
def test_gpt_draws_every_table_at_gpt2s_scale(tied):
    model = build(
        ModelSpec(architecture=Gpt(layers=1, width=128, sequence=256, vocabulary=2000, tie_weights=tied))
    ).model
    assert (model.head.weight is model.tokens.weight) == tied
    for table in (model.tokens, model.positions, model.head):
        assert table.weight.std().item() == pytest.approx(0.02, rel=0.05)
        assert table.weight.mean().item() == pytest.approx(0.0, abs=0.001)


def test_gpt_does_not_look_ahead():
    built = build(ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50)))
    before = built.forward().detach()
    built.inputs["ids"][:, 5] = (built.inputs["ids"][:, 5] + 1) % 50
    after = built.forward().detach()
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5:], after[:, 5:])


def test_cells_by_hand_equal_torchs_layers():
    """Same weights, same sequence: nn.RNN and nn.LSTM are the second method."""
    torch.manual_seed(0)
    x = torch.randn(3, 7, 5)
    for by_hand, layer in (
        (RnnByHand(5), nn.RNN(5, 5, batch_first=True)),
        (LstmByHand(5), nn.LSTM(5, 5, batch_first=True)),
    ):
        with torch.no_grad():
            layer.weight_ih_l0.copy_(by_hand.from_input.weight)
            layer.bias_ih_l0.copy_(by_hand.from_input.bias)
            layer.weight_hh_l0.copy_(by_hand.from_state.weight)
            layer.bias_hh_l0.copy_(by_hand.from_state.bias)
        torch.testing.assert_close(by_hand(x), layer(x)[0])


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_graphs_grow_with_the_steps(cell):
    few, more = (nodes_behind(build(ModelSpec(architecture=Recurrent(cell=cell, steps=t))).forward()) for t in (10, 20))
    assert len(more) - len(few) >= 10 * 4


def test_fused_lstm_is_the_same_function_and_leaves_the_backends_on():
    unrolled, fused = (build(ModelSpec(architecture=Recurrent(fused=f))).forward() for f in (False, True))
    torch.testing.assert_close(fused, unrolled)
    assert torch.backends.mkldnn.enabled
    assert len(nodes_behind(fused)) <= len(nodes_behind(unrolled))


def test_channels_last_reaches_weights_and_activations():
    # In eval mode: batch statistics over two 1 x 1 images would amplify the rounding of another kernel.
    spec = ModelSpec(architecture=ResNet(image_size=32, classes=10), batch=2, train=False)
    plain, last = build(spec), build(msgspec.structs.replace(spec, memory_format="channels_last"))
    for tensor in (last.inputs["x"], last.model.layer1[0].conv1.weight):
        assert tensor.is_contiguous(memory_format=torch.channels_last)
    assert last.inputs["x"].is_leaf
    torch.testing.assert_close(last.forward(), plain.forward(), rtol=1e-3, atol=1e-4)


# Gradients and values by hand; unbind, shared leaf, cat and where as in pytorch#40884, #9701 and #187297.
GRADIENTS = {
    "mul_self": {"a": [2.0, 4.0, 6.0]},
    "shared_leaf": {"a": [13.0]},
    "unbind_iter": {"m": [[2.0, 2.0], [0.0, 0.0], [5.0, 5.0]]},
    "slice_chain": {"x": [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0]]},
    "cat_list": {"a": [1.0 + 6.0, 2.0 + 7.0], "b": [5.0], "constant": None, "weights": None},
    "view_write": {"x": [[0.0, 0.0], [16.0, 24.0], [32.0, 40.0]], "v": [20.0, 40.0]},
    "to_double": {"x": [2.0, 4.0, 6.0]},
    "where_sqrt": {"x": [float("nan"), float("nan"), 0.25]},
    "custom_function": {"x": [0.0, 1.0, 1.0, 0.0]},
    "grad_of_grad": {"x": [12.0, 48.0]},
    "python_loop": {"x": [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], "w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_expression_gradients_by_hand(name, dtype):
    _, found = gradients(ModelSpec(architecture=Expression(name=name), dtype=dtype))
    assert found.keys() == GRADIENTS[name].keys()
    for leaf, expected in GRADIENTS[name].items():
        if expected is None:
            assert found[leaf] is None
            continue
        wanted = torch.tensor(expected, dtype=getattr(torch, dtype))
        torch.testing.assert_close(found[leaf], wanted, equal_nan=True)


def test_complex_gradient_is_the_conjugate_derivative():
    _, found = gradients(ModelSpec(architecture=Expression(name="complex_abs2")))
    assert torch.equal(found["z"], torch.tensor([6.0 + 8.0j, 2.0 - 4.0j]))


def test_the_raising_expressions_raise_where_they_should():
    built = build(ModelSpec(architecture=Expression(name="in_place_after_save")))
    loss = built.loss(built.forward())
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        loss.backward()
    built = build(ModelSpec(architecture=Expression(name="inference_leaf")))
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        built.forward()


def test_every_expression_has_a_module_that_says_what_it_is():
    assert {a.name for a in SOUND_EXPRESSIONS} | set(RAISING) == set(EXPRESSIONS)
    for name in EXPRESSIONS:
        assert type(module_for(Expression(name=name))).__doc__


def test_expressions_name_their_intermediates():
    built = build(ModelSpec(architecture=Expression(name="unbind_iter")))
    assert not built.named_extra
    built.forward()
    assert built.named_extra.keys() == {"p", "q", "r"}
    assert not any(tensor.is_leaf for tensor in built.named_extra.values())


def test_importing_the_builder_stays_light():
    """Nothing heavy beyond `import torch` itself."""
    code = (
        "import sys, torch; before = set(sys.modules); import engine.models.build; "
        "new = set(sys.modules) - before; "
        "print([n for n in ('torch._dynamo', 'torch._inductor', 'sympy', 'torchvision', 'onnx') if n in new])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_loss_without_a_floating_output_is_refused():
    built = build(ModelSpec(architecture=LinearStack(layers=1, width=4)))
    with pytest.raises(ValueError, match="needs a floating point or complex output"):
        built.loss(torch.tensor([1, 2]))
