"""Toggles from outside: what changes, and above all what must not."""

from __future__ import annotations

import itertools
import warnings

import msgspec
import pytest
import torch

from engine.models.build import build
from engine.models.spec import (
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    ResNet,
    TiedLoop,
    block_count,
    parameter_groups,
)
from tests.models.families import NETWORKS, WITH_BLOCKS, label
from tests.models.runs import assert_same, gradients, gradients_of, held_bytes, node_names, nodes_behind

POLICIES = ({"checkpoint": "every_k", "checkpoint_k": 2}, {"checkpoint": "segments"}, {"checkpoint": "each_block"})


@pytest.mark.parametrize("architecture", WITH_BLOCKS, ids=label)
def test_checkpointing_keeps_every_gradient_bit_identical(architecture):
    """Dropout included: preserve_rng_state replays the same numbers. An input gradient lets the reentrant kind work.

    Two exceptions of the reentrant kind, whose backward and forward are other runs of the engine: a weight used by
    several blocks sums its uses in another order, and oneDNN's LSTM takes its inference kernel under no_grad.
    """
    differentiable = not isinstance(architecture, Gpt)
    plain = ModelSpec(architecture=architecture, input_requires_grad=differentiable, batch=3)
    loss, wanted = gradients(plain)
    for policy, reentrant in itertools.product(POLICIES, (False, True)):
        segments = min(2, block_count(architecture))
        spec = msgspec.structs.replace(plain, **policy, checkpoint_segments=segments, use_reentrant=reentrant)
        again, found = gradients(spec)
        reordered = reentrant and (isinstance(architecture, TiedLoop) or getattr(architecture, "fused", False))
        torch.testing.assert_close(again, loss, rtol=0, atol=1e-6 if reordered else 0)
        assert_same(wanted, found, 1e-6 if reordered else 0)


def test_without_preserved_rng_dropout_gradients_differ():
    spec = ModelSpec(
        architecture=Mlp(layers=4, depth=4, dropout=0.5), checkpoint="each_block", preserve_rng_state=False
    )
    _, wanted = gradients(msgspec.structs.replace(spec, checkpoint="off"))
    _, found = gradients(spec)
    assert not torch.equal(wanted["layers.0.linear.weight"], found["layers.0.linear.weight"])


def test_reentrant_without_an_input_gradient_cuts_the_first_block_off():
    """pytorch#7617: reentrant checkpointing needs an input that requires a gradient."""
    spec = ModelSpec(checkpoint="each_block", use_reentrant=True)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        _, found = gradients(spec)
    assert found["layers.0.linear.weight"] is None
    assert found["head.weight"] is not None


def checkpointed_blocks(spec: ModelSpec) -> list[int]:
    """Blocks whose forward runs a second time in backward, by counting."""
    built = build(spec)
    calls = [0] * block_count(spec.architecture)
    for i, block in enumerate(built.model.blocks):
        block.register_forward_pre_hook(lambda *_, i=i: calls.__setitem__(i, calls[i] + 1))
    built.loss(built.forward()).backward()
    return [i for i, count in enumerate(calls) if count == 2]


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_policies_checkpoint_the_blocks_they_say(reentrant):
    stack = ModelSpec(architecture=LinearStack(layers=7, width=8), input_requires_grad=True, use_reentrant=reentrant)
    for fields, blocks in (
        ({"checkpoint": "off"}, []),
        ({"checkpoint": "every_k", "checkpoint_k": 3}, [0, 3, 6]),
        ({"checkpoint": "every_k", "checkpoint_k": 1}, [0, 1, 2, 3, 4, 5, 6]),
        ({"checkpoint": "each_block"}, [0, 1, 2, 3, 4, 5, 6]),
        ({"checkpoint": "segments", "checkpoint_segments": 3}, [0, 1, 2, 3]),  # 2 + 2, the last 3 run plainly
        ({"checkpoint": "segments", "checkpoint_segments": 1}, []),
    ):
        assert checkpointed_blocks(msgspec.structs.replace(stack, **fields)) == blocks, fields


def test_module_hooks_fire_on_checkpointed_blocks():
    built = build(ModelSpec(checkpoint="each_block"))
    seen = []
    for name, module in built.model.named_modules():
        module.register_forward_hook(lambda *_, name=name: seen.append(name))
    built.forward()
    assert [name for name in seen if name.count(".") == 1 and name.startswith("layers")] == [
        "layers.0",
        "layers.1",
        "layers.2",
    ]


def test_checkpointing_linear_relu_saves_little_and_wide_blocks_save_much():
    """The trap: a Linear + ReLU keeps one tensor more than its checkpoint does; a GPT block keeps many."""
    stack = ModelSpec(architecture=LinearStack(layers=4, width=64), batch=4)
    off, on = (held_bytes(msgspec.structs.replace(stack, checkpoint=c)) for c in ("off", "each_block"))
    one = 4 * 64 * 4  # one (4, 64) float32 activation
    assert (off, on) == (5 * one, 4 * one)  # x and the four ReLU outputs; x and the first three
    gpt = ModelSpec(architecture=Gpt(layers=4))
    off, on = (held_bytes(msgspec.structs.replace(gpt, checkpoint=c)) for c in ("off", "each_block"))
    assert on < off / 5


def test_autocast_adds_cast_nodes_and_can_raise_saved_bytes():
    for architecture in (Mlp(), Gpt(layers=2), LinearStack(layers=4, width=64)):
        plain = ModelSpec(architecture=architecture)
        mixed = msgspec.structs.replace(plain, autocast="bfloat16")
        names = [node_names(built.loss(built.forward())) for built in (build(plain), build(mixed))]
        assert names[0]["ToCopyBackward0"] == 0
        assert names[1]["ToCopyBackward0"] > 0
    small = ModelSpec(architecture=Mlp(), batch=4)
    # Weights count: autocast saves its own two-byte copies of them, plain training saves none.
    assert held_bytes(msgspec.structs.replace(small, autocast="bfloat16")) > held_bytes(small)


# Float16 convolutions on the CPU take seconds.
CASTS = [
    pytest.param(
        a, t, id=f"{label(a)}-{t}", marks=[pytest.mark.slow] if isinstance(a, ResNet) and t == "float16" else []
    )
    for a in NETWORKS
    for t in ("bfloat16", "float16")
]


@pytest.mark.parametrize(("architecture", "autocast"), CASTS)
def test_autocast_changes_the_outputs_but_not_the_dtype_of_the_gradients(architecture, autocast):
    if getattr(architecture, "fused", False) and autocast == "float16":
        pytest.skip("oneDNN's fused LSTM takes float16 only on processors that have it")
    loss, found = gradients(ModelSpec(architecture=architecture, autocast=autocast, loss="cross_entropy"))
    plain, _ = gradients(ModelSpec(architecture=architecture, loss="cross_entropy"))
    torch.testing.assert_close(loss.float(), plain, rtol=0.05, atol=0.05)
    assert {g.dtype for g in found.values() if g is not None} == {torch.float32}


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_each_group_can_be_frozen_and_only_it_loses_its_gradients(architecture):
    _, wanted = gradients(ModelSpec(architecture=architecture))
    groups = parameter_groups(architecture)
    for group in groups[:: 1 + len(groups) // 8]:  # of a ResNet's 15 every other one
        built = build(ModelSpec(architecture=architecture, frozen=(group,)))
        loss = built.loss(built.forward())
        if loss.requires_grad:
            loss.backward()
        found = gradients_of(built)
        frozen = {name for name in wanted if name.startswith(f"{group}.")}
        assert frozen
        assert {name for name, p in built.model.named_parameters() if not p.requires_grad} == frozen
        # nn.RNN computes with another kernel when its weights need no gradient: equal up to rounding.
        assert_same({n: None if n in frozen else g for n, g in wanted.items()}, found, 1e-5)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "detach"])
@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_a_whole_forward_without_gradients_has_no_graph_and_the_same_values(architecture, mode):
    plain = build(ModelSpec(architecture=architecture))
    built = build(ModelSpec(architecture=architecture, grad_mode=mode))
    loss = built.loss(built.forward())
    torch.testing.assert_close(loss, plain.loss(plain.forward()), check_stride=False)
    assert loss.grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        loss.backward()


@pytest.mark.parametrize("mode", ["no_grad", "detach"])
def test_a_cut_block_ends_the_graph_there(mode):
    spec = ModelSpec(architecture=Mlp(layers=4, depth=4, residual=False), grad_mode=mode, grad_mode_block=1)
    loss, found = gradients(spec)
    assert torch.equal(loss, gradients(msgspec.structs.replace(spec, grad_mode="grad"))[0])
    reached = {name.rsplit(".", 2)[0] for name, g in found.items() if g is not None and name.startswith("layers")}
    assert reached == {"layers.2", "layers.3"}


def test_inference_mode_on_a_block_raises_in_the_next_one():
    built = build(ModelSpec(grad_mode="inference_mode", grad_mode_block=0))
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        built.forward()
    last = build(ModelSpec(architecture=LinearStack(layers=2, width=8), grad_mode="inference_mode", grad_mode_block=1))
    assert last.forward().is_inference()


def test_a_cut_step_of_a_tied_loop_keeps_the_later_uses():
    whole, cut = (
        build(ModelSpec(architecture=TiedLoop(steps=6), grad_mode=mode, grad_mode_block=block))
        for mode, block in (("grad", -1), ("detach", 3))
    )
    counts = [node_names(built.forward())["TanhBackward0"] for built in (whole, cut)]
    assert counts == [6, 2]


def test_cut_and_checkpoint_together():
    spec = ModelSpec(architecture=Mlp(layers=4, depth=4), grad_mode="no_grad", grad_mode_block=1)
    loss, wanted = gradients(spec)
    for policy in POLICIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a checkpoint under no_grad warns that no gradient will come
            again, found = gradients(msgspec.structs.replace(spec, **policy))
        assert torch.equal(loss, again)
        assert_same(wanted, found)


def test_checkpoint_composes_with_autocast():
    """The recomputation runs under the autocast of the forward."""
    spec = ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50), autocast="bfloat16")
    loss, wanted = gradients(spec)
    again, found = gradients(msgspec.structs.replace(spec, checkpoint="each_block"))
    assert torch.equal(loss, again)
    for name, gradient in wanted.items():
        if gradient is not None:
            torch.testing.assert_close(found[name], gradient, rtol=0.02, atol=0.02)


def test_eval_switches_dropout_off():
    for architecture in (Mlp(dropout=0.5), Gpt(layers=1, dropout=0.5)):
        spec = ModelSpec(architecture=architecture)
        without = msgspec.structs.replace(spec, architecture=msgspec.structs.replace(architecture, dropout=0.0))
        evaluated = gradients(msgspec.structs.replace(spec, train=False))[0]
        assert torch.equal(evaluated, gradients(without)[0])
        assert not torch.equal(evaluated, gradients(spec)[0])


def test_toggles_leave_the_class_alone():
    """They act on the instance: a model built afterwards is plain."""
    build(ModelSpec(checkpoint="each_block", architecture=LinearStack(layers=3, width=8)))
    plain = build(ModelSpec(architecture=LinearStack(layers=3, width=8)))
    assert "run_blocks" not in vars(plain.model)
    assert len(nodes_behind(plain.forward())) == len(
        nodes_behind(build(ModelSpec(architecture=LinearStack(layers=3, width=8))).forward())
    )


def test_checkpointed_recurrent_layers_stay_unrolled_in_the_recomputation():
    spec = ModelSpec(architecture=Recurrent(steps=5, width=8, layers=2), checkpoint="each_block")
    _, wanted = gradients(msgspec.structs.replace(spec, checkpoint="off"))
    _, found = gradients(spec)
    assert_same(wanted, found)
