"""Questions people asked in public about backward, with the values PyTorch 2.13 gives."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.models.spec import Chain, Embedding, Expression, Mlp, ModelSpec, ResNet, TiedLoop
from engine.replay import record_backward
from engine.replay.spec import GradientHook
from tests.replay.recording import accumulation, names, received, replayed, returned, step_of, values

ACCUMULATE = "torch::autograd::AccumulateGrad"


def test_a_row_that_is_not_used_gets_zeros_from_unbind():
    """pytorch/pytorch#40884: iterating a tensor is one node, and the unused row has no gradient coming in."""
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    p, _, r = x
    replay = record_backward((p * 2 + r * 5).sum())
    unbind = step_of(replay, "UnbindBackward0")
    assert received(replay, unbind) == [[2.0, 2.0], None, [5.0, 5.0]]
    assert returned(replay, unbind) == [[[2.0, 2.0], [0.0, 0.0], [5.0, 5.0]]] == [x.grad.tolist()]


def test_every_index_of_a_slice_is_a_step():
    """pytorch/pytorch#9701: x[1, 2] is two Selects, x[1:3, 0] a Slice and a Select, x[..., -1] one Select."""
    x = torch.ones(4, 5, requires_grad=True)
    element, column, last = x[1, 2], x[1:3, 0], x[..., -1]
    for outputs, expected in (
        (element, ["SelectBackward0", "SelectBackward0"]),
        (column.sum(), ["SumBackward0", "SelectBackward0", "SliceBackward0"]),
        (last.sum(), ["SumBackward0", "SelectBackward0"]),
    ):
        assert names(record_backward(outputs, retain_graph=True)) == [*expected, ACCUMULATE]
    together = record_backward(element + column.sum() + last.sum())
    (arrived,) = together.accumulations
    assert len(arrived.contributions) == 3
    assert {together.steps[step].name for step, _ in arrived.contributions} == {"SelectBackward0", "SliceBackward0"}


def test_a_leaf_used_twice_is_summed_use_by_use():
    """discuss.pytorch.org: a * (a + 7) at 3 gives 10 from the product and 3 through the sum, 13 in all."""
    a = torch.tensor(3.0, requires_grad=True)
    replay = record_backward(a * (a + 7))
    assert names(replay) == ["MulBackward0", "AddBackward0", ACCUMULATE]
    assert returned(replay, replay.steps[0]) == [10.0, 3.0]
    assert returned(replay, replay.steps[1]) == [3.0, None]
    assert received(replay, replay.steps[2]) == [13.0] == [a.grad.item()]
    (summed,) = replay.accumulations
    assert (summed.contributions, summed.before, summed.is_exact) == (((0, 0), (1, 0)), None, True)


def test_a_tied_weights_hook_runs_once_with_the_sum_before_grad_is_set():
    """pytorch/pytorch#8023: then the post accumulate hook, with .grad set."""
    weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    log = []
    weight.register_hook(lambda grad: log.append(("tensor hook", grad.tolist(), weight.grad is None)))
    weight.register_post_accumulate_grad_hook(lambda p: log.append(("post accumulate hook", p.grad.tolist(), False)))
    replay = record_backward(((torch.tensor([[1.0, 1.0]]) @ weight) @ weight.t()).sum())
    told = [(call.kind, values(replay.gradients[call.received]), call.grad_was_none) for call in replay.hook_calls]
    assert (
        told
        == log
        == [
            ("tensor hook", [[8.0, 12.0], [8.0, 12.0]], True),
            ("post accumulate hook", [[8.0, 12.0], [8.0, 12.0]], False),
        ]
    )
    assert len(replay.accumulations[0].contributions) == 2
    assert replay.accumulations[0].is_exact


def test_a_second_backward_says_why_it_cannot_and_where():
    """facebookresearch/dlrm#71: buffers are freed, nodes are not."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w.exp() * w).sum()
    first, again = record_backward(loss), record_backward(loss)
    assert w.grad.tolist() == pytest.approx([5.436563491821289, 22.16716766357422])
    assert first.passes[0].error is None
    error = again.passes[0].error
    assert error.message.startswith("Trying to backward through the graph a second time (or directly access saved ")
    assert names(again) == ["SumBackward0", "MulBackward0"]
    assert [step.duration_s is None for step in again.steps] == [False, True]
    assert [again.graph.nodes[number].name for number in again.not_run] == ["ExpBackward0", ACCUMULATE]


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda z: (z * z.conj()).real, 3 + 4j, 6 + 8j),
        (lambda z: z.imag**2, 2j, 4j),
        (lambda z: (z**2).real, 1 + 2j, 2 - 4j),
        (lambda z: z.abs(), 0j, 0j),
    ],
)
def test_complex_gradients_are_the_direction_of_steepest_ascent(function, point, expected):
    """jax-ml/jax#15872: the conjugate Wirtinger derivative."""
    z = torch.tensor(point, requires_grad=True)
    replay = record_backward(function(z))
    (summed,) = replay.accumulations
    assert values(replay.gradients[summed.after]) == pytest.approx(expected)
    assert replay.gradients[summed.after].dtype == "complex64"
    assert summed.is_exact


def test_a_complex_root_needs_a_gradient_given():
    """jax-ml/jax#15872, and given one the seed is what arrives."""
    z = torch.tensor(1j, requires_grad=True)
    refused = record_backward(z**2)
    expected = "grad can be implicitly created only for real scalar outputs but got torch.complex64"
    assert refused.passes[0].error.message == expected
    assert refused.steps == ()
    given = record_backward(z**2, torch.tensor(1 + 0j))
    assert received(given, given.steps[0]) == [1 + 0j]
    assert values(given.gradients[given.accumulations[0].after]) == pytest.approx(-2j)  # conj(2 z)


def test_a_sparse_gradient_stays_sparse_and_adds_up():
    """pytorch/pytorch#4666: index 1 occurs twice, row 1 gets 1 + 100."""
    embedding = nn.Embedding(5, 2, sparse=True)
    weights = torch.tensor([[1.0], [10.0], [100.0]])
    for number in range(2):
        replay = record_backward((embedding(torch.tensor([1, 3, 1])) * weights).sum(), model=embedding)
        (summed,) = replay.accumulations
        gradient = replay.gradients[summed.after]
        factor = number + 1.0
        assert (gradient.layout, gradient.numel, gradient.zeros) == ("sparse_coo", 10, 6)
        assert values(gradient)[1] == [101.0 * factor, 101.0 * factor]
        assert (summed.is_exact, summed.before is None) == (True, number == 0)


def test_dense_and_sparse_uses_of_one_weight_are_added_as_autograd_does():
    weight = nn.Parameter(torch.arange(6.0).reshape(3, 2))
    looked_up = nn.functional.embedding(torch.tensor([2, 0, 2]), weight, sparse=True)
    replay = record_backward((looked_up * 3).sum() + (weight**2).sum())
    (summed,) = replay.accumulations
    assert {replay.gradients[replay.steps[step].returned[nr]].layout for step, nr in summed.contributions} == {
        "sparse_coo",
        "strided",
    }
    assert summed.is_exact
    assert weight.grad.tolist() == [[3.0, 5.0], [4.0, 6.0], [14.0, 16.0]]


def test_cat_returns_a_gradient_per_slot_and_the_engine_drops_the_constants():
    """szagoruyko/pytorchviz#49: slots a, constant, b, a; cat cuts all four pieces, but the second has nowhere to go."""
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    out = torch.cat([a, torch.tensor([9.0]), b, a]) * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    replay = record_backward(out.sum(), inputs={"a": a, "b": b})
    cat = step_of(replay, "CatBackward0")
    assert returned(replay, cat) == [[1.0, 2.0], [3.0], [4.0], [5.0, 6.0]]
    (dropped,) = [edge for edge in replay.graph.edges if edge.source == cat.node and edge.target is None]
    assert dropped.output_nr == 1
    assert accumulation(replay, "a").contributions == ((cat.number, 0), (cat.number, 3))
    assert values(replay.gradients[accumulation(replay, "a").after]) == [6.0, 8.0]
    assert values(replay.gradients[accumulation(replay, "b").after]) == [4.0]


def test_a_module_hook_puts_a_node_on_both_sides():
    """pytorch/pytorch#61519."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model[0].register_full_backward_hook(lambda module, grad_inputs, grad_outputs: None)
    replay = record_backward(model(torch.ones(1, 2, requires_grad=True)).sum(), model=model)
    ran = [name for name in names(replay) if name not in (ACCUMULATE, "TBackward0")]
    hook = "BackwardHookFunctionBackward"
    assert ran == ["SumBackward0", "ReluBackward0", hook, "AddmmBackward0", hook]


def test_a_module_hook_before_an_in_place_operation_is_refused_in_pytorchs_words():
    """pytorch/pytorch#61519, on a network that has such a layer."""
    model = ModelSpec(architecture=ResNet(image_size=32, classes=10))
    replay = replayed(model, hook=GradientHook(kind="observe", at="bn1"))
    assert replay.error.message.startswith("Output 0 of BackwardHookFunction is a view and is being modified inplace.")
    assert (replay.steps, replay.error.stage) == ((), "forward")


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("input_requires_grad", [True, False])
def test_only_a_reentrant_checkpoint_without_grad_inputs_loses_the_gradient(use_reentrant, input_requires_grad):
    """pytorch/pytorch#7617."""
    model = ModelSpec(
        architecture=Mlp(layers=1, depth=1, in_features=3, width=2, residual=False),
        checkpoint="each_block",
        use_reentrant=use_reentrant,
        input_requires_grad=input_requires_grad,
    )
    replay = replayed(model)
    weight = next(leaf for leaf in replay.leaves if leaf.name == "layers.0.linear.weight")
    lost = use_reentrant and not input_requires_grad
    assert (weight.grad_norm is None) == lost
    assert any("None of the inputs have requires_grad=True" in one for one in replay.warnings) == lost
    assert ("recompute" in {step.kind for step in replay.steps}) == (not lost)


@pytest.mark.parametrize(("keep", "disagree"), [(True, 0), (False, 483)])
def test_dropout_recomputed_without_the_random_state_has_another_mask(keep, disagree):
    """openai/guided-diffusion#167: recording does not touch the generator, so the count is PyTorch's own."""
    torch.manual_seed(7)
    x = torch.ones(1000, requires_grad=True)
    y = checkpoint(lambda t: nn.functional.dropout(t.sin(), 0.5) * 3, x, use_reentrant=False, preserve_rng_state=keep)
    replay = record_backward(y.sum())
    assert int(((y != 0) != (x.grad != 0)).sum()) == disagree
    assert replay.gradients[replay.accumulations[0].after].zeros == int((x.grad == 0).sum())
    (recomputed,) = [step for step in replay.steps if step.kind == "recompute"]
    assert replay.steps[recomputed.inside].name == "MulBackward0"


def test_the_presets_numbers_match_hand_arithmetic():
    replay = replayed(Expression(name="shared_leaf"))
    (summed,) = replay.accumulations
    assert values(replay.gradients[summed.after]) == [13.0]
    chain = replayed(Chain(operations=2, width=1))
    assert [name for name in names(chain) if "Sin" in name] == ["SinBackward0", "SinBackward0"]
    tied = replayed(TiedLoop(steps=4, width=2))
    assert len(accumulation(tied, "step.linear.weight").contributions) == 4
    sparse = replayed(Embedding(vocabulary=20, width=8, tokens=6, sparse=True))
    assert "sparse_coo" in {gradient.layout for gradient in sparse.gradients}
