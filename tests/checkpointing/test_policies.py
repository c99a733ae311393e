"""Policies over every family with blocks: the same loss and gradients, bytes and operations worked out by hand."""

from __future__ import annotations

import warnings

import msgspec
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from engine import run
from engine.checkpointing.gradients import compared, take_gradients
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Outcome, PolicySpec
from engine.checkpointing.standard import matrix_operations, standard_policies
from engine.graph import trace_graph
from engine.graph.held import measure_held_bytes
from engine.models.build import build
from engine.models.spec import (
    ConvNet,
    DynamicBlock,
    Embedding,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    TiedLoop,
    TwoTower,
    block_count,
)
from tests.models.families import NETWORKS, WITH_BLOCKS, label

GENERATOR_BYTES = torch.get_rng_state().nbytes
QUICK = (
    Mlp(layers=4, depth=4, width=8, residual=False, dropout=0.5),
    DynamicBlock(width=8),
    LinearStack(layers=7, width=16),
    ConvNet(layers=2, channels=8, image_size=8, classes=5),
    Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.3),
    Recurrent(cell="hand_written_lstm", steps=3, width=8, layers=2),
    TiedLoop(steps=4, width=8),
    TwoTower(width=8),
)


def policies_of(model: ModelSpec) -> list[Policy]:
    """Every kind, with and without its further settings, where PyTorch can run it."""
    blocks = block_count(model.architecture)
    keep = matrix_operations(model)
    found = [
        Policy(kind="every_k", k=2),
        *(Policy(kind="segments", segments=number) for number in (2, 3) if number <= blocks),
        Policy(kind="each_block"),
        Policy(kind="groups", groups=((0, (blocks + 1) // 2),)),
        Policy(kind="groups", groups=((0, 1), (1, blocks)) if blocks > 1 else ((0, 1),)),
        Policy(kind="selective"),
        *([Policy(kind="selective", keep=keep)] if keep else []),
        Policy(kind="save_on_cpu"),
        Policy(kind="save_on_disk"),
    ]
    plain = [policy for policy in found if policy.is_checkpoint and policy.kind != "selective"]
    return list(dict.fromkeys(found + [msgspec.structs.replace(policy, use_reentrant=True) for policy in plain]))


@pytest.mark.parametrize(
    "architecture",
    [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in WITH_BLOCKS if one not in QUICK)],
    ids=label,
)
def test_loss_and_gradients_are_those_of_off_bit_for_bit(architecture):
    model = ModelSpec(architecture=architecture, input_requires_grad=not isinstance(architecture, Gpt))
    built = build(model)
    off = step(built, Policy())
    for policy in policies_of(model):
        outcome = Outcome(policy=policy, **compared(step(built, policy), off))
        if policy.use_reentrant and rounds_otherwise(architecture):
            assert outcome.largest_difference < 1e-5
        else:
            assert outcome.loss_identical, label_of(policy)
            assert outcome.gradients_identical, (label_of(policy), outcome.differing)
        assert outcome.gradient_elements == sum(x.numel() for x in off.of.values() if x is not None)


def rounds_otherwise(architecture):
    """Reentrant: a weight used again is summed in parts, and oneDNN's LSTM has another kernel for no_grad."""
    return isinstance(architecture, TiedLoop) or (isinstance(architecture, Recurrent) and architecture.fused)


def step(built, policy):
    with applied(built, policy) as one:
        loss = one.run()[1]
        loss.backward()
    return take_gradients(built, loss)


STACK = ModelSpec(architecture=LinearStack(layers=4, width=64), batch=4)
"""Four times t, addmm, relu; what a relu gives is 4 x 64 floats, 1,024 bytes, and the next addmm saves it too."""
ONE = 1024
FLOPS = 2 * 4 * 64 * 64
KEEP = Policy(kind="selective", keep=("aten.addmm.default",))
BY_HAND = {
    Policy(): (4, 0, 0, 0),
    Policy(kind="each_block"): (3, 0, 12, 4),
    Policy(kind="segments"): (3, 0, 6, 2),
    Policy(kind="every_k", k=2): (4, 0, 6, 2),
    Policy(kind="groups", groups=((0, 3),)): (2, 0, 9, 3),
    Policy(kind="groups", groups=((0, 4),)): (0, 0, 12, 4),
    Policy(kind="selective"): (3, 0, 12, 4),
    KEEP: (3 + 4, 0, 8, 0),
    Policy(kind="save_on_cpu"): (4, 0, 0, 0),
    Policy(kind="save_on_disk"): (0, 3 + 4, 0, 0),
}
"""(1,024 bytes held, moved, operations run again, products run again); the model's own input is in none."""


@pytest.fixture(scope="module")
def stack():
    return run_policies(PolicySpec(model=STACK, policies=tuple(BY_HAND)), lambda *_: None)


@pytest.mark.slow
def test_a_job_finds_the_same_where_it_may_write_to_one_folder_only(stack):
    found = run(PolicySpec(model=STACK, policies=tuple(BY_HAND)))
    for here, there in zip(stack.outcomes, found.outcomes, strict=True):
        assert msgspec.structs.replace(here, peak_bytes=0) == msgspec.structs.replace(there, peak_bytes=0)


def test_bytes_and_recomputation_of_a_stack_are_those_worked_out_by_hand(stack):
    for outcome in stack.outcomes:
        held, moved, operations, products = BY_HAND[outcome.policy]
        assert outcome.held_bytes == held * ONE, label_of(outcome.policy)
        assert outcome.moved_bytes == moved * ONE, label_of(outcome.policy)
        assert outcome.recomputed_operations == operations, label_of(outcome.policy)
        assert outcome.recomputed_flops == products * FLOPS, label_of(outcome.policy)
        assert outcome.forward_operations == 4 * 3 + 1
        assert outcome.forward_flops == 4 * FLOPS
        assert outcome.backward_flops == (2 * 4 - 1 + products) * FLOPS  # the input wants no gradient
        assert outcome.gradients_identical
        assert sum(row.calls for row in outcome.recomputed) == operations
    assert stack.blocks == 4
    assert stack.before_bytes == 4 * (4 * (64 * 64 + 64)) + ONE
    assert {row.operation: row.calls for row in stack.operations}["aten.addmm.default"] == 4
    assert "no tensor is copied" in stack.notes[0]


def test_checkpointing_each_linear_and_relu_saves_almost_nothing(stack):
    by_label = {label_of(outcome.policy): outcome for outcome in stack.outcomes}
    assert by_label["off"].held_bytes == 4096
    assert by_label["each block"].held_bytes == 3072
    assert by_label["each block"].peak_bytes > by_label["off"].peak_bytes


def test_the_allocator_says_what_is_alive_when_the_forward_ends(stack):
    live = {label_of(outcome.policy): outcome.live_bytes for outcome in stack.outcomes}
    assert live["off"] == 4 * ONE + 4  # and the loss
    assert live["each block"] == 4 * ONE + 4 + 4 * GENERATOR_BYTES
    assert live["groups 0-3"] == ONE + 4 + GENERATOR_BYTES
    assert live["saved to disk"] == ONE + 4
    assert all(outcome.peak_bytes >= outcome.live_bytes for outcome in stack.outcomes)


def test_flops_are_those_of_torchs_own_counter():
    model = ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=20, dropout=0.2), batch=2)
    policies = (Policy(), Policy(kind="each_block"), Policy(kind="selective", keep=("aten.addmm.default",)))
    for outcome in run_policies(PolicySpec(model=model, policies=policies), lambda *_: None).outcomes:
        with FlopCounterMode(display=False) as counter:
            step(build(model), outcome.policy)
        assert counter.get_total_flops() == outcome.forward_flops + outcome.backward_flops


def test_batch_norm_counts_a_recomputed_batch_twice():
    model = ModelSpec(architecture=ConvNet(block="conv_bn_relu", layers=2, channels=8, image_size=8, classes=5))
    policies = (Policy(), Policy(kind="each_block"), Policy(kind="save_on_disk"))
    off, each, disk = run_policies(PolicySpec(model=model, policies=policies), lambda *_: None).outcomes
    assert off.differing_buffers == disk.differing_buffers == ()
    assert each.gradients_identical
    assert "blocks.0.norm.num_batches_tracked" in each.differing_buffers


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_standard_policies_fit_the_model(architecture):
    model = ModelSpec(architecture=architecture)
    policies = standard_policies(model)
    assert policies[0] == Policy()
    assert len(set(map(label_of, policies))) == len(policies)
    PolicySpec(model=model, policies=policies)
    blocks = block_count(architecture)
    assert any(policy.is_checkpoint for policy in policies) == bool(blocks)
    assert all(policy.segments <= blocks for policy in policies if policy.kind == "segments")


@pytest.mark.parametrize(
    "architecture", [QUICK[0], *(pytest.param(a, marks=pytest.mark.slow) for a in QUICK[3:5])], ids=label
)
def test_a_standard_selective_policy_names_operations_of_the_model(architecture):
    model = ModelSpec(architecture=architecture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_policies(PolicySpec(model=model, policies=standard_policies(model)), lambda *_: None)
    names = {row.operation for row in found.operations}
    (selective,) = [outcome for outcome in found.outcomes if outcome.policy.kind == "selective"]
    assert set(selective.policy.keep) <= names
    assert not set(selective.policy.keep) & {row.operation for row in selective.recomputed}
    assert selective.recomputed_flops == 0
    assert selective.recomputed_operations > 0


def test_a_sparse_gradient_survives_the_disk():
    model = ModelSpec(architecture=Embedding(vocabulary=20, width=8, tokens=6, sparse=True))
    off, disk = run_policies(
        PolicySpec(model=model, policies=(Policy(), Policy(kind="save_on_disk"))), lambda *_: None
    ).outcomes
    assert disk.gradients_identical
    assert off.gradient_elements == disk.gradient_elements > 0


@pytest.mark.parametrize("mode", ["no_grad", "detach"])
def test_what_was_saved_before_a_cut_is_held_no_more(mode):
    """The graph from the loss on, read slot by slot, is what `off` can still hold."""
    model = ModelSpec(architecture=Mlp(residual=False), grad_mode=mode, grad_mode_block=1)
    built = build(model)
    loss = built.loss(built.forward())
    graph = trace_graph(loss, model=built.model, inputs=built.inputs)
    spec = PolicySpec(model=model, policies=(Policy(), Policy(kind="each_block")))
    off = run_policies(spec, lambda stage, fraction: None).outcomes[0]
    assert off.held_bytes == graph.intermediate_bytes > 0
    assert measure_held_bytes(lambda: built.loss(built.forward())) == graph.saved_bytes
