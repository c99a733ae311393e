"""What a training loop does to memory: leaks, zero_grad, retain_graph, errors; and the script says the same."""

import subprocess
import sys

import numpy as np
import pytest

from engine.memory.experiment import price, record_model_memory
from engine.memory.spec import MemorySpec
from engine.models.architecture import Chain, Embedding, Expression, Gpt, LinearStack, Mlp, Recurrent, ResNet
from engine.models.spec import ModelSpec
from engine.script.memory import script
from tests.memory.accounts import after

SMALL = ModelSpec(architecture=Mlp(width=16, in_features=8))


def record(**fields):
    trace = record_model_memory(MemorySpec(**{"model": SMALL, "steps": 3, **fields}), lambda stage, fraction: None)
    assert trace.largest_difference_bytes == 0
    return trace


def left(trace, step):
    ledger = after(trace, "end of step", step)
    return ledger["saved"] + ledger["output"] + ledger["temporary"]


def rows(trace):
    return list(map(trace.blocks.__getitem__, range(len(trace.blocks))))


def test_a_list_of_losses_keeps_every_graph_where_no_backward_frees_it():
    trace = record(kept="the loss of every step", backward=False)
    one = left(trace, 1)
    assert one == after(trace, "loss", 1)["saved"] + 4
    assert [left(trace, step) for step in (1, 2, 3)] == [one, 2 * one, 3 * one]
    held = {row.holders[-1] for row in rows(trace) if row.category == "saved" and row.died < 0}
    assert held == {f"the graph of losses[{number}]" for number in range(3)}
    assert [left(record(kept="loss.item() of every step", backward=False), step) for step in (1, 2, 3)] == [0, 0, 0]


def test_after_a_backward_a_list_of_losses_keeps_four_bytes_each_unless_the_graph_is_retained():
    plain = record(kept="the loss of every step")
    assert [left(plain, step) for step in (1, 2, 3)] == [4, 8, 12]
    retained = record(kept="the loss of every step", retain_graph=True)
    assert left(retained, 3) == 3 * left(retained, 1) > 12


def test_what_a_variable_still_refers_to_lives_until_it_is_assigned_again():
    trace = record(kept="outputs")
    output = next(row for row in rows(trace) if row.name == "output")
    (second,) = [one for one in trace.phases if (one.name, one.step) == ("forward", 2)]
    assert second.first < output.died <= second.after
    assert "outputs" in output.holders


@pytest.mark.parametrize(("zero_grad", "left_over"), [("set_to_none", 0), ("fill with zeros", 1), ("never", 1)])
def test_gradients_after_zero_grad(zero_grad, left_over):
    trace = record(zero_grad=zero_grad, steps=1)
    ledger = after(trace, "end of step", 1)
    assert ledger["gradient"] == left_over * ledger["parameter"]


def test_errors_of_pytorch_end_the_trace_and_are_told():
    sparse = record(model=ModelSpec(architecture=Embedding(vocabulary=32, width=8, tokens=4, sparse=True)))
    assert sparse.error.stage == "optimizer step"
    assert "sparse" in sparse.error.message
    assert [one.name for one in sparse.phases][-1] == "end of step"
    frozen = record(model=ModelSpec(architecture=LinearStack(layers=1, width=8), frozen=("blocks",)))
    assert frozen.error.stage == "backward"
    assert "does not require grad" in frozen.error.message
    assert record(model=ModelSpec(architecture=Expression())).error is None, "no parameter: no optimizer"


def test_what_keeps_too_much_is_priced():
    plain = price(MemorySpec(model=SMALL, steps=1)).predicted_bytes
    assert (
        price(MemorySpec(model=SMALL, steps=4, kept="the loss of every step", backward=False)).predicted_bytes > plain
    )
    long = MemorySpec(model=ModelSpec(architecture=Chain(operations=100_000)), steps=2)
    assert price(long).predicted_bytes > long.limits.memory_bytes


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [Chain(operations=10_000), Recurrent(steps=200)])
def test_deep_graphs(architecture):
    trace = record(model=ModelSpec(architecture=architecture), steps=1, kept="the loss of every step")
    assert trace.error is None
    assert after(trace, "end of step", 1)["output"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        ModelSpec(architecture=LinearStack(), batch=64),
        ModelSpec(architecture=Gpt(layers=12, heads=12, width=192, sequence=64), batch=8, checkpoint="each_block"),
        ModelSpec(architecture=ResNet(variant="resnet50", image_size=64), batch=4, checkpoint="each_block"),
    ],
    ids=["50 x Linear(1024)", "GPT shape", "ResNet-50 shape"],
)
def test_the_ledger_of_large_models_is_the_allocators(model):
    trace = record(model=model, steps=1, optimizer="SGD")
    peak = int(np.frombuffer(trace.allocator_bytes.data, np.int64).max())
    assert peak == int(trace.blocks.live_bytes(trace.events).sum(axis=0).max())
    assert after(trace, "loss", 1)["temporary"] == 0
    assert after(trace, "backward", 1)["gradient"] == after(trace, "build", 0)["parameter"]


SCRIPTS = [
    MemorySpec(model=SMALL),
    MemorySpec(
        model=ModelSpec(architecture=Mlp(), checkpoint="each_block", loss="cross_entropy"),
        optimizer="Adafactor",
        kept="the loss of every step",
        zero_grad="fill with zeros",
        retain_graph=True,
    ),
    MemorySpec(model=SMALL, optimizer="none", kept="outputs", backward=False),
    MemorySpec(model=ModelSpec(architecture=Expression()), kept="loss.item() of every step", zero_grad="never"),
]


@pytest.mark.parametrize("spec", [SCRIPTS[1], *(pytest.param(one, marks=pytest.mark.slow) for one in SCRIPTS[::2])])
def test_the_script_prints_the_bytes_alive_after_every_phase(spec):
    done = subprocess.run([sys.executable, "-c", script(spec)], capture_output=True, text=True, check=True)
    trace = record_model_memory(spec, lambda stage, fraction: None)
    live = trace.blocks.live_bytes(trace.events).sum(axis=0)
    shown = [one for one in trace.phases if one.name not in ("forward", "recompute")]
    expected = [f"after {one.name}{f' {one.step}' if one.step else ''} {live[one.after - 1]}" for one in shown]
    printed = [line for line in done.stdout.splitlines() if line.startswith(("after", "peak"))]
    assert printed == [*expected, f"peak {live.max()}"]


def test_what_backward_has_freed_is_saved_no_more():
    """64 x 256 float32 of the model's output, which its ReLU has saved too, is only the loop's output afterwards."""
    model = ModelSpec(architecture=LinearStack(layers=2, width=256), batch=64)
    trace = record(model=model, optimizer="SGD", steps=1, kept="outputs")
    assert after(trace, "loss", 1)["saved"] == 2 * 64 * 256 * 4
    for phase in ("backward", "optimizer step", "end of step"):
        ledger = after(trace, phase, 1)
        assert ledger["saved"] == 0
        assert ledger["output"] == 64 * 256 * 4 + (0 if phase == "end of step" else 4)
    retained = record(model=model, optimizer="SGD", steps=1, kept="outputs", retain_graph=True)
    assert after(retained, "end of step", 1)["saved"] == 2 * 64 * 256 * 4
    live = retained.blocks.live_bytes(retained.events)
    assert (live >= 0).all()


def test_no_line_of_this_package_but_the_models_is_shown():
    trace = record(steps=1)
    lines = {(row.category, row.source.file) for row in rows(trace) if row.source is not None}
    assert lines, "the models' own lines are there"
    assert {file for _, file in lines} & {"experiment.py", "record.py", "looks.py", "optimizers.py"} == set()
    assert all(row.source is None for row in rows(trace) if row.category == "optimizer_state")
