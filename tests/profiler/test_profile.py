"""A profile against the public case, against sums worked out a second way, and against torch's own viewers."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from typing import get_args

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.cuda import _memory_viz

from engine import run
from engine.figures.profiler_rows import is_around, labels_of
from engine.figures.profiler_time import boxes
from engine.figures.profiler_words import kind_of
from engine.models.spec import Embedding, Expression, LinearStack, Mlp, ModelSpec
from engine.optimizer_names import OptimizerName
from engine.profiler import reading
from engine.profiler.experiment import profile_program
from engine.profiler.snapshot import cpu_snapshot, pickled
from engine.profiler.spec import MEMORY_ROW, Operation, Profiled, ProfileSpec, ProfilingCostSpec
from engine.runner.faults import Fault
from engine.script import script_for
from pages.memory.profiler_exports import profile_downloads

LAYERS, WIDTH = 6, 32
STACK = ModelSpec(
    architecture=LinearStack(layers=LAYERS, width=WIDTH),
    batch=2,
    input_requires_grad=True,
    checkpoint="every_k",
    checkpoint_k=2,
)
ISSUE = ProfileSpec(program="pytorch#70028", threads=2)
SPECS = {
    "issue": ISSUE,
    "checkpointed": ProfileSpec(model=STACK),
    "by shape": ProfileSpec(model=STACK, group_by_input_shape=True),
    "stack": ProfileSpec(model=STACK, with_stack=True),
    "reentrant": ProfileSpec(model=msgspec.structs.replace(STACK, use_reentrant=True)),
    "forward": ProfileSpec(model=STACK, part="forward"),
    "step": ProfileSpec(model=ModelSpec(architecture=Mlp()), part="training step"),
    "expression": ProfileSpec(model=ModelSpec(architecture=Expression()), warm_up=False),
}
CLEAN = """\
import msgspec
from engine import run
from tests.profiler.test_profile import SPECS
print(msgspec.msgpack.encode(run(SPECS["{name}"], inline=True)).hex())
"""
MM_BACKWARD = "autograd::engine::evaluate_function: MmBackward0"
SLOW = ("by shape", "stack", "forward", "expression")
each = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SPECS]
)


@cache
def profiled(name: str) -> Profiled:
    """`stack` in an interpreter of its own.

    torch adds by time: every Python call of another thread, idle or not, is told all bytes of the meantime, and other
    tests leave threads behind. A job's process has none.
    """
    if SPECS[name].with_stack:
        return msgspec.msgpack.decode(bytes.fromhex(output_of(CLEAN.format(name=name)).splitlines()[-1]), type=Profiled)
    return run(SPECS[name], inline=True)


def rows_by_name(found: Profiled) -> dict[str, Operation]:
    return {row.name: row for row in found.rows}


def test_the_public_case_70028():
    found = profiled("issue")
    rows = rows_by_name(found)
    asked = ("aten::mm", "aten::matmul", "aten::relu")
    told = {name: [rows[name].cpu_bytes, rows[name].self_cpu_bytes] for name in asked}
    assert told == {"aten::mm": [786432, 786432], "aten::matmul": [262144, 0], "aten::relu": [262144, 0]}
    assert sorted(n for n, row in rows.items() if row.self_cpu_bytes < 0) == [MEMORY_ROW, "aten::sum", MM_BACKWARD]
    assert (rows[MEMORY_ROW].cpu_bytes, rows[MEMORY_ROW].self_cpu_bytes) == (-524296, -524296)
    assert sum(row.self_cpu_bytes for row in found.rows) == found.sum_self_bytes == found.alive_bytes == 256 * 256 * 4
    assert [(one.name, one.bytes) for one in found.alive] == [("x.grad", 262144)]
    flows = {
        (found.rows[f.allocated_by].name, None if f.freed_by is None else found.rows[f.freed_by].name): f.bytes
        for f in found.flows
        if f.allocated_by is not None
    }
    assert flows[("aten::mm", MM_BACKWARD)] == flows[("aten::threshold_backward", MM_BACKWARD)] == 262144
    assert flows[("aten::empty", "aten::sum")] == 8
    assert flows[("aten::mm", None)] == 262144
    assert rows["aten::mm"].flops == 3 * 2 * 256**3


@each
def test_every_byte_of_the_table_is_explained(name):
    found = profiled(name)
    assert found.error is None
    assert found.unexplained_bytes == 0
    assert [row.self_cpu_bytes for row in found.rows] == [row.allocated_bytes - row.freed_bytes for row in found.rows]
    assert found.allocated_bytes - found.freed_bytes + found.freed_earlier_bytes == found.alive_bytes
    made, gone = Counter[int | None](), Counter[int | None]()
    for flow in found.flows:
        made[flow.allocated_by] += flow.bytes
        gone[flow.freed_by] += flow.bytes
    assert all(made[place] == row.allocated_bytes for place, row in enumerate(found.rows))
    assert all(gone[place] == row.freed_bytes for place, row in enumerate(found.rows))
    assert gone[None] == found.alive_bytes == sum(one.bytes for one in found.alive)
    signed = np.where(found.allocations.frees == 1, -found.allocations.sizes, found.allocations.sizes)
    assert signed.cumsum().max() == found.peak_bytes


@each
def test_cpu_mem_is_the_sum_over_an_operation_and_all_it_calls(name):
    found, inclusive = profiled(name), defaultdict[int, int](int)
    operations, allocations = found.operations, found.allocations
    for place, size, freed in zip(allocations.operations, allocations.sizes, allocations.frees, strict=True):
        while place >= 0:
            inclusive[int(operations.rows[place])] += int(-size if freed else size)
            place = operations.parents[place]
    own = {place: row.cpu_bytes for place, row in enumerate(found.rows) if row.name != MEMORY_ROW}
    assert {place: inclusive[place] for place in own} == own
    counted = Counter(operations.rows.tolist())
    assert all(counted[place] == row.calls for place, row in enumerate(found.rows) if row.name != MEMORY_ROW)


def test_what_a_checkpoint_runs_again_and_which_forward_a_backward_belongs_to():
    for name in ("checkpointed", "reentrant"):
        found = profiled(name)
        addmm = rows_by_name(found)["aten::addmm"]
        assert (addmm.calls, addmm.recomputed_calls) == (LAYERS + LAYERS // 2, LAYERS // 2)
        pairs = nodes_and_what_made_them(found)
        # a non-reentrant checkpoint runs the first forward's nodes; a reentrant one has none there, but in the second
        again = LAYERS // 2 if name == "reentrant" else 0
        assert pairs["AddmmBackward0", "aten::addmm", "recompute"] == again
        assert pairs["AddmmBackward0", "aten::addmm", "forward"] == LAYERS - again


def nodes_and_what_made_them(found: Profiled) -> Counter[tuple[str, str, str]]:
    operations, names = found.operations, [row.name for row in found.rows]
    return Counter(
        (names[operations.rows[place]].rpartition(" ")[2], names[operations.rows[made]], operations.phases[made])
        for place, made in enumerate(operations.forwards.tolist())
        if made >= 0
    )


@pytest.mark.slow
def test_what_a_checkpoint_keeps_and_which_line_called_an_operation():
    reentrant = msgspec.structs.replace(STACK, use_reentrant=True)
    for forward in (profiled("forward"), run(ProfileSpec(model=reentrant, part="forward"), inline=True)):
        state = [one.bytes for one in forward.alive if one.name.startswith("RNG state")]
        assert state == [torch.get_rng_state().nbytes] * (LAYERS // 2)
    stack = profiled("stack")
    sources = {row.name: row.source for row in stack.rows}
    assert not any(source.startswith(("engine/profiler/", "engine/runner/")) for source in sources.values())
    assert not any(" at 0x" in label for label in labels_of(stack.rows))
    drawn = {stack.rows[row].name for row in stack.operations.rows[boxes(stack)].tolist()}
    assert {"aten::addmm", "nn.Module: Linear_0"} <= drawn
    assert not any(name.startswith(("engine/profiler/", "torch/profiler/")) for name in drawn)
    assert all(is_around(row) == (row.name not in drawn) for row in stack.rows if "torch/profiler/" in row.name)
    assert sources["aten::linear"].startswith("engine/models/linear_stack.py(")
    assert not any(row.source for row in profiled("checkpointed").rows)
    assert any(one.name.endswith("(saved for backward)") for one in profiled("forward").alive)


def test_what_is_alive_at_the_end_is_known_by_name():
    weights = LAYERS * (WIDTH * WIDTH + WIDTH) * 4
    grads = {one.name: one.bytes for one in profiled("checkpointed").alive if one.name.endswith(".grad")}
    assert sum(grads.values()) == weights + 2 * WIDTH * 4
    assert grads["blocks.0.linear.weight.grad"] == WIDTH * WIDTH * 4
    step = profiled("step")
    assert all(one.name for one in step.alive)
    moments = Counter[str]()
    for one in step.alive:
        moments[one.name.partition(" of ")[0] if " of " in one.name else one.name.rpartition(".")[2]] += one.bytes
    assert moments["exp_avg"] == moments["exp_avg_sq"] == moments["grad"]


@pytest.mark.slow
@pytest.mark.parametrize("name", get_args(OptimizerName))
def test_whatever_an_optimizer_keeps_is_its_state(name):
    step = run(ProfileSpec(model=ModelSpec(architecture=Mlp()), part="training step", optimizer=name), inline=True)
    kinds = {kind_of(one.name) for one in step.alive}
    assert ("optimizer state" in kinds) == (name != "SGD")
    assert kinds <= {"optimizer state", "gradients", "outputs", "loss"}


def test_what_an_optimizer_refuses_leaves_the_profile_of_what_ran():
    sparse = ModelSpec(architecture=Embedding(sparse=True))
    found = run(ProfileSpec(model=sparse, part="training step", optimizer="AdamW"), inline=True)
    assert found.error is not None
    assert found.error.stage == "optimizer step"
    assert "sparse" in found.error.message
    assert "Optimizer.step#AdamW.step" in rows_by_name(found)
    assert any(phase == "backward" for phase in found.operations.phases)


def test_the_traces_open_in_the_standard_viewers():
    found = profiled("checkpointed")
    trace = json.loads(gzip.decompress(found.trace))
    named = Counter(event.get("name") for event in trace["traceEvents"])
    assert named["aten::addmm"] == rows_by_name(found)["aten::addmm"].calls
    snapshot = pickle.loads(pickled(cpu_snapshot(found.allocations, found.operations, [r.name for r in found.rows])))
    segments = snapshot["segments"]
    assert all(sum(block["size"] for block in one["blocks"]) == one["total_size"] for one in segments)
    assert sum(one["active_size"] for one in segments) == found.alive_bytes
    lines = _memory_viz.memory(snapshot, format_flamegraph=lambda text: text)
    assert sum(int(line.rpartition(" ")[2]) for line in lines.splitlines() if "active_allocated" in line) == (
        found.alive_bytes
    )
    assert "aten::mm" in lines
    assert f"segments: {len(segments)}" in _memory_viz.segsum(snapshot)
    assert f"{len(snapshot['device_traces'][0])} entries" in _memory_viz.trace(snapshot)
    for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
        assert "snapshot.pickle" in plot(snapshot)
    actions = Counter(entry["action"] for entry in snapshot["device_traces"][0])
    assert actions["alloc"] == sum(row.allocations for row in found.rows)
    assert actions["free_completed"] == sum(row.frees for row in found.rows)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_is_written_as_a_pickle_is_read_as_it_was(value):
    assert pickle.loads(pickled(value)) == value


def test_what_cannot_be_profiled_is_said(monkeypatch):
    frozen = run(ProfileSpec(model=msgspec.structs.replace(STACK, grad_mode="no_grad", checkpoint="off")), inline=True)
    assert frozen.error is not None
    assert frozen.error.stage == "backward"
    assert "does not require grad" in frozen.error.message
    assert frozen.rows
    with pytest.raises(ValueError, match="record_shapes=False"):
        ProfileSpec(record_shapes=False, group_by_input_shape=True)
    monkeypatch.setattr(reading, "MOST_EVENTS", 10)
    with pytest.raises(Fault, match="the limit is 10") as caught:
        profile_program(ISSUE, lambda stage, fraction: None)
    assert caught.value.kind == "too_much"
    with pytest.raises(TypeError, match="received a set"):
        pickled({1})


def output_of(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["issue", "by shape"])
def test_the_script_prints_what_the_page_shows(name):
    found, printed = profiled(name), output_of(script_for(SPECS[name]))
    negative = [row.name for row in found.rows if row.self_cpu_bytes < 0]
    assert f"negative: {negative}" in printed
    assert f"sum of the column: {found.sum_self_bytes}" in printed
    assert headings(printed) == headings(found.table)


@pytest.mark.slow
def test_the_exported_script_runs_under_its_own_name(tmp_path):
    """`python profile.py` would be found in place of the standard library's module of that name."""
    script = next(one for one in profile_downloads(ISSUE, profiled("issue")) if one.file_name.endswith(".py"))
    assert script.file_name.removesuffix(".py") not in sys.stdlib_module_names
    (tmp_path / script.file_name).write_text(str(script.content()))
    done = subprocess.run([sys.executable, script.file_name], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "negative:" in done.stdout


def headings(text: str) -> list[str]:
    return next(line for line in text.splitlines() if line.lstrip().startswith("Name")).split()


@pytest.mark.slow
def test_the_cost_of_profiling_is_measured_against_a_plain_run():
    spec = ProfilingCostSpec(model=ModelSpec(architecture=Mlp()), rounds=5)
    cost = run(spec, inline=True)
    assert cost.comparison.names[0] == "plain"
    assert len(cost.comparison.ratios) == len(cost.comparison.names) - 1 == 4
    assert cost.events > 0
    assert cost.reading_s > 0
    printed = output_of(script_for(spec))
    named = [line.rpartition(" ")[0] for line in printed.splitlines()]
    assert [name for name in named if name in cost.comparison.names] == list(cost.comparison.names)
