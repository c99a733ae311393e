"""Every model family under every way of running it: the ledger equals the allocator and PyTorch's own tensors."""

import pytest
import torch

from engine.graph import trace_graph
from engine.higher_order.allocated import peak_bytes
from engine.memory.experiment import record_model_memory
from engine.memory.record import MemoryRecording
from engine.memory.spec import MemorySpec
from engine.models.architecture import (
    Chain,
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)
from engine.models.build import build
from engine.models.spec import ModelSpec
from tests.memory.accounts import RNG_BYTES, Plain, after, held_elsewhere

FAMILIES = {
    "linear_stack": LinearStack(layers=3, width=16),
    "mlp": Mlp(width=16, in_features=8),
    "conv_net": ConvNet(layers=2, channels=8, image_size=8),
    "gpt": Gpt(layers=2, width=16, sequence=8, vocabulary=32),
    "recurrent": Recurrent(steps=4, width=8),
    "fused_lstm": Recurrent(steps=4, width=8, fused=True),
    "embedding": Embedding(vocabulary=32, width=8, tokens=4),
    "sparse_embedding": Embedding(vocabulary=32, width=8, tokens=4, sparse=True),
    "two_tower": TwoTower(),
    "tied_loop": TiedLoop(steps=3, width=8),
    "dynamic_block": DynamicBlock(),
    "chain": Chain(operations=20),
    "expression": Expression(),
}
WAYS = {
    "plain": {},
    "checkpoint": {"checkpoint": "each_block"},
    "reentrant": {"checkpoint": "each_block", "use_reentrant": True},
    "autocast": {"autocast": "bfloat16"},
}


def spec_of(family, way, **more):
    optimizer = "SGD momentum" if "embedding" in family else "AdamW"
    needs_inputs = way == "reentrant" and family not in ("gpt", "conv_net")  # their first block's input has a node
    toggles = WAYS[way] | ({"input_requires_grad": True} if needs_inputs else {})
    try:
        model = ModelSpec(architecture=FAMILIES[family], **toggles)
    except ValueError:
        return None
    return MemorySpec(**{"model": model, "optimizer": optimizer, "steps": 1, **more})


def record(spec):
    return record_model_memory(spec, lambda stage, fraction: None)


PAIRS = [(family, way) for family in FAMILIES for way in WAYS if spec_of(family, way) is not None]
FAST = [("gpt", "checkpoint"), ("mlp", "reentrant"), ("two_tower", "autocast"), ("fused_lstm", "plain")]
"""The others are slow only because they are many."""


@pytest.mark.parametrize(
    ("family", "way"), [pair if pair in FAST else pytest.param(*pair, marks=pytest.mark.slow) for pair in PAIRS]
)
def test_the_ledger_is_the_allocators(family, way):
    spec = spec_of(family, way)
    peak, trace = peak_bytes(lambda: Plain(spec)), record(spec)
    plain = Plain(spec)
    assert trace.error is None
    assert trace.largest_difference_bytes == 0
    assert trace.allocator_bytes.shape == trace.event_s.shape == (trace.events,)
    assert int(trace.blocks.live_bytes(trace.events).sum(axis=0).max()) == peak, "recording changed what it measures"
    ledger = after(trace, "backward", 1)
    assert ledger["gradient"] == sum(plain.gradients.values())  # indices of a sparse one are the input's own
    assert ledger["parameter"] == sum(one.nbytes for one in plain.built.model.parameters())
    assert after(trace, "end of step", 1)["optimizer_state"] == plain.state_bytes()
    rows = [trace.blocks[int(i)] for i in trace.blocks.alive_at(last_of(trace, "loss"))]
    assert [row for row in rows if row.category == "temporary"] == [], "after the forward everything has a reason"
    random_state = [row for row in rows if "random number state" in row.name or row.name.endswith("fwd_cpu_state")]
    assert {row.bytes for row in random_state} <= {RNG_BYTES}
    saved = after(trace, "loss", 1)["saved"] - sum(row.bytes for row in random_state)
    built = build(spec.model)
    assert saved == held_elsewhere(built)
    if way == "plain":
        assert saved == trace_graph(built.loss(built.forward()), built.model, built.inputs).intermediate_bytes


def last_of(trace, phase):
    return next(one.after - 1 for one in trace.phases if one.name == phase)


@pytest.mark.parametrize("way", ["checkpoint", "reentrant"])
def test_what_a_checkpoint_runs_again_is_told_apart(way):
    trace = record(spec_of("gpt", way))
    reruns = [one for one in trace.phases if one.name == "recompute"]
    (backward,) = [one for one in trace.phases if one.name == "backward"]
    assert len(reruns) == 2, "one per block"
    assert all(backward.first <= one.first < one.after <= backward.after for one in reruns)
    back = [row for row in map(trace.blocks.__getitem__, range(len(trace.blocks))) if row.category == "recomputed"]
    plain = record(spec_of("gpt", "plain"))
    of_blocks = [
        row
        for row in map(plain.blocks.__getitem__, range(len(plain.blocks)))
        if row.category == "saved" and row.module.startswith("blocks.") and row.born < last_of(plain, "forward")
    ]
    assert {row.module.split(".")[1] for row in back} == {"0", "1"}
    assert all(row.source is not None for row in back)
    outputs = 2 * 4 * 8 * 16 * 4  # two blocks' (4, 8, 16): saved by what follows; only a reentrant one makes them again
    again = sum(row.bytes for row in back) + (outputs if way == "checkpoint" else 0)
    assert again == sum(row.bytes for row in of_blocks)


@pytest.mark.slow
def test_a_family_of_images_with_residuals():
    architecture = ResNet()
    trace = record(MemorySpec(model=ModelSpec(architecture=architecture), optimizer="none", steps=1))
    assert trace.largest_difference_bytes == 0
    assert after(trace, "loss", 1)["temporary"] == 0


@pytest.mark.parametrize("optimizer", ["SGD", "SGD momentum", "Adam", "AdamW fused", "Adafactor", "none"])
def test_every_optimizers_state(optimizer):
    spec = spec_of("tied_loop", "plain", optimizer=optimizer, steps=2)
    trace, plain = record(spec), Plain(spec)
    assert trace.largest_difference_bytes == 0
    assert after(trace, "end of step", 2)["optimizer_state"] == plain.state_bytes()
    assert (plain.state_bytes() == 0) == (optimizer in ("SGD", "none"))


def test_one_linear_and_relu_by_hand():
    """4 rows through Linear(8, 8) and ReLU in float32: 320 B of weights, 128 B of input, output, and result."""
    model = ModelSpec(architecture=LinearStack(layers=1, width=8), batch=4)
    trace = record(MemorySpec(model=model, optimizer="SGD", steps=1))
    rows = {row.name: row for row in map(trace.blocks.__getitem__, range(len(trace.blocks)))}
    assert after(trace, "build", 0) | {"temporary": 0} == dict.fromkeys(after(trace, "build", 0), 0) | {
        "parameter": 8 * 8 * 4 + 8 * 4,
        "input": 4 * 8 * 4,
    }
    ledger = after(trace, "loss", 1)
    assert ledger["saved"] == 4 * 8 * 4, "ReLU saves its result, which is the output too"
    assert ledger["output"] == 4, "the loss"
    assert rows["ReluBackward0.result"].holders == ("ReluBackward0.result", "output")
    assert rows["ReluBackward0.result"].shape == (4, 8)
    assert after(trace, "backward", 1)["gradient"] == ledger["parameter"]
    assert after(trace, "end of step", 1)["gradient"] == 0


def test_gradients_are_the_same_bit_for_bit():
    spec = spec_of("gpt", "checkpoint")

    def gradients(built):
        built.loss(built.forward()).backward()
        return [one.grad for one in built.model.parameters()]

    plain = gradients(build(spec.model))
    with MemoryRecording() as recording:
        recording.begin("build", 0)
        built = build(spec.model)
        recording.follow(built.model)
        recorded = gradients(built)
    assert all(torch.equal(a, b) for a, b in zip(plain, recorded, strict=True))
    assert recording.trace().largest_difference_bytes == 0
