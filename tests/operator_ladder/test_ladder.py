"""Ladder, roofline, sweep and checks as the engine runs them; no assertion on how fast anything is."""

from __future__ import annotations

import pytest

from engine import run
from engine.operator_ladder.catalogue import CATALOGUE, offered
from engine.operator_ladder.row import ATLAS
from engine.operator_ladder.spec import (
    CompiledOperatorLadderSpec,
    OperatorChecksSpec,
    OperatorLadderSpec,
    OperatorSweepSpec,
    RooflineSpec,
)
from engine.operators.load import load

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")


def small(operator: str, **values: object) -> OperatorLadderSpec:
    work = "forward" if CATALOGUE[operator].backward is None else "forward + backward"
    settings = {"rows": 8, "columns": 16, "inner": 4 if CATALOGUE[operator].sizes[2] else 1, "rounds": 5, "work": work}
    return OperatorLadderSpec(operator=operator, **settings | values)


FIRST = ("gelu_tanh", "gemm", "adamw_step_")
"""One of each kind; the others are measured in the slow suite."""


@pytest.mark.parametrize(
    "operator", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in offered()]
)
def test_a_ladder_measures_every_rung_or_says_why_not(operator):
    ladder = run(small(operator), inline=True)
    assert [rung.name for rung in ladder.rungs] == list(CATALOGUE[operator].rungs)
    for rung in ladder.rungs:
        if rung.outcome == "measured":
            assert rung.seconds > 0
            assert rung.peak_bytes >= 0
        else:
            assert rung.reason
    assert ladder.is_compiled == load().compiled
    measured = [rung.name for rung in ladder.rungs if rung.outcome == "measured"]
    assert ladder.comparison is None or list(ladder.comparison.names) == measured
    if not ladder.is_compiled:
        assert {rung.outcome for rung in ladder.rungs if rung.name in ATLAS} == {"not built"}


def test_rungs_left_out_are_not_measured():
    ladder = run(small("gelu_tanh", left_out=("composed",)), inline=True)
    assert ladder.rungs[0].outcome == "skipped"
    assert ladder.rungs[0].reason == "not asked for"


@compiled_only
def test_the_instruction_set_is_the_best_again_afterwards():
    import torch

    best = torch.ops.atlas.instruction_set()
    run(small("gelu_tanh"), inline=True)
    assert torch.ops.atlas.instruction_set() == best


@pytest.mark.slow
@compiled_only
def test_a_naive_kernel_that_would_take_too_long_is_estimated():
    left_out = ("ikj", "tiled", "built-in", "atlas baseline set")
    sizes = {"rows": 2048, "columns": 2048, "inner": 1024}
    spec = OperatorLadderSpec(operator="gemm", **sizes, work="forward", rounds=5, left_out=left_out)
    ladder = run(spec, inline=True)
    naive = ladder.rungs[0]
    assert naive.outcome == "skipped" or naive.seconds is not None
    if naive.outcome == "skipped":
        assert naive.estimated_s > 0.4
        assert "estimated" in naive.reason


@pytest.mark.slow
def test_a_roofline_has_places_to_move_bytes_in_and_a_peak():
    roofline = run(RooflineSpec(rounds=5), inline=True)
    assert roofline.peak.kind == "flops"
    assert {one.name.partition(", ")[2] for one in roofline.ceilings if one.kind == "bytes"} >= {"L2 cache", "memory"}
    assert all(one.per_s > 0 and len(one.samples_s) >= 5 for one in roofline.ceilings)
    assert roofline.bandwidth(1).working_set_bytes <= roofline.cache_bytes
    assert roofline.bandwidth(1 << 40).name.endswith("memory")
    copy = next(one for one in roofline.ceilings if one.name == "copy, L2 cache")
    assert copy.per_call == copy.working_set_bytes


def test_a_sweep_has_every_rung_at_every_size():
    spec = OperatorSweepSpec(smallest=4, largest=16, points=3, rounds=5, first="composed", second="built-in")
    sweep = run(spec, inline=True)
    assert sweep.sizes == (4, 8, 16)
    assert {one.name for one in sweep.series} >= {"composed", "built-in"}
    assert all(one.sizes == (4.0, 8.0, 16.0) for one in sweep.series)


@pytest.mark.slow
@pytest.mark.parametrize("operator", offered())
def test_checks_give_the_verdicts_that_the_row_promises(operator):
    found = run(OperatorChecksSpec(operator=operator), inline=True)
    verdicts = {check.name: check for check in found.checks}
    row = CATALOGUE[operator]
    assert all(verdicts[name].outcome == "passed" for name in verdicts if name.startswith("test_"))
    if row.backward is None:
        assert verdicts["gradcheck"].outcome == "does not apply"
    elif row.lesson:
        assert verdicts["gradcheck"].outcome == "failed"
        assert "Jacobian mismatch" in verdicts["gradcheck"].said.message
        assert abs(found.worst.backward - found.worst.difference_quotient) > 1e-4
    else:
        assert verdicts["gradcheck"].outcome == "passed"
        assert verdicts["gradgradcheck"].outcome in ("passed", "refused")
        assert abs(found.worst.backward - found.worst.difference_quotient) < 1e-6


@pytest.mark.slow
def test_torch_compile_is_a_rung_of_its_own():
    ladder = run(CompiledOperatorLadderSpec(rows=8, columns=16, rounds=5), inline=True)
    rung = ladder.rungs[-1]
    assert rung.name == "torch.compile"
    assert rung.outcome == "measured" or rung.reason
    if rung.outcome == "measured":
        assert rung.cold_s > 0
        assert rung.error_eps < 16
