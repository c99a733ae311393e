"""The graph under a policy: what is dropped, kept beside it and run again, node by node; and policies timed."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import PolicyGraphSpec, PolicySpec, PolicyTimingSpec
from engine.checkpointing.timing import time_policies
from engine.checkpointing.trace import REENTRANT, trace_policy
from engine.models.spec import Gpt, LinearStack, ModelSpec, TiedLoop

STACK = ModelSpec(architecture=LinearStack(layers=4, width=8), batch=2)
EACH = Policy(kind="each_block")
KEEP = Policy(kind="selective", keep=("aten.addmm.default",))
GPT = ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=20, dropout=0.3))


def traced(model, policy):
    return trace_policy(PolicyGraphSpec(model=model, policy=policy), lambda *_: None)


def times(found):
    """How often each kind of node was made again, nodes that were not left out."""
    pairs = zip(found.graph.node_names, found.recomputed, strict=True)
    return Counter({name: count for name, count in Counter(n for n, again in pairs if again).items() if count})


BY_HAND = {
    Policy(): {},
    EACH: {"AddmmBackward0": 4, "ReluBackward0": 4, "TBackward0": 4},
    Policy(kind="segments"): {"AddmmBackward0": 2, "ReluBackward0": 2, "TBackward0": 2},
    Policy(kind="groups", groups=((1, 4),)): {"AddmmBackward0": 3, "ReluBackward0": 3, "TBackward0": 3},
    KEEP: {"ReluBackward0": 4, "TBackward0": 4},
    Policy(kind="save_on_disk"): {},
}


@pytest.mark.parametrize("policy", BY_HAND, ids=label_of)
def test_what_runs_again_in_a_stack(policy):
    found = traced(STACK, policy)
    assert found.error is None
    assert times(found) == BY_HAND[policy]
    assert len(found.recomputed) == len(found.graph.nodes)
    policies = tuple(dict.fromkeys((Policy(), policy)))
    outcome = run_policies(PolicySpec(model=STACK, policies=policies), lambda *_: None).outcomes[-1]
    assert found.kept_bytes == outcome.held_bytes
    assert sum(found.recomputed) == outcome.recomputed_operations
    names = found.graph.node_names
    assert [names[node] for node in found.cached] == (["AddmmBackward0"] * 4 if policy == KEEP else [])
    inside = BY_HAND[policy].get("ReluBackward0", 0)  # a relu's result, an addmm's two factors
    without = 1 if inside and policy.kind != "groups" else 0  # the first block's weight: its input wants no gradient
    assert found.dropped_slots == 3 * inside - without


def test_a_reentrant_checkpoint_is_one_node_that_runs_again_as_a_whole():
    found = traced(GPT, Policy(kind="each_block", use_reentrant=True))
    assert times(found) == {REENTRANT: 2}
    assert found.graph.node_names.count(REENTRANT) == 2
    assert REENTRANT in found.notes[0]
    segments = traced(GPT, Policy(kind="groups", groups=((0, 2),), use_reentrant=True))
    assert times(segments) == {REENTRANT: 1}


def test_only_nodes_of_checkpointed_blocks_are_made_again():
    found = traced(GPT, Policy(kind="segments"))
    again = {module for module, count in zip(found.graph.node_modules, found.recomputed, strict=True) if count}
    assert {module.split(".")[1] for module in again} == {"0"}
    assert {module.path for module in found.modules if module.calls > 1} == set()


def test_a_weight_that_autocast_casts_anew_shifts_no_other_node():
    found = traced(ModelSpec(architecture=TiedLoop(steps=3), autocast="bfloat16"), EACH)
    pairs = list(zip(found.graph.node_names, found.recomputed, strict=True))
    assert ("TanhBackward0", 0) not in pairs
    assert ("SumBackward0", 0) in pairs
    assert max(found.recomputed) == 1


def test_what_pytorch_refuses_leaves_a_graph_as_far_as_there_is_one():
    found = traced(STACK, Policy(kind="segments", segments=9))
    assert "must not be zero" in found.error.message
    assert len(found.graph.nodes) == 0
    backward = traced(ModelSpec(architecture=TiedLoop(), autocast="bfloat16"), KEEP)
    assert "not found in storage" in backward.error.message
    assert len(backward.graph.nodes) > 0


def test_every_policy_that_runs_is_timed_in_turns():
    refused = Policy(kind="segments", segments=9)
    spec = PolicyTimingSpec(model=STACK, policies=(Policy(), EACH, refused, Policy(kind="save_on_disk")), rounds=5)
    found = time_policies(spec, lambda *_: None)
    assert found.timed == (Policy(), EACH, Policy(kind="save_on_disk"))
    assert found.comparison.names == tuple(map(label_of, found.timed))
    assert found.comparison.rounds == 5
    assert all(sample > 0 for samples in found.comparison.samples_s for sample in samples)
    assert [ratio.name for ratio in found.comparison.ratios] == ["each block", "saved to disk"]
    alone = time_policies(PolicyTimingSpec(model=STACK, policies=(Policy(), refused)), lambda *_: None)
    assert alone.comparison is None
    assert alone.timed == (Policy(),)
