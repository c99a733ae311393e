"""The ladder and the sweep as results: every rung accounted for, long loops estimated, refusals in words."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from engine import Fault, run
from engine.machine.spec import MachineSpec
from engine.script import script_for
from engine.vectorisation import compiled
from engine.vectorisation.plan import plan
from engine.vectorisation.spec import CompiledLadderSpec, LadderSpec, SweepSpec
from engine.vectorisation.ways import make_inputs

SMALL = {"rows": 12, "columns": 5, "rounds": 5}
ORDER = ("element loop", "row loop", "broadcast", "einsum", "matmul", "torch.compile", "compiled operator")


@pytest.fixture(scope="module")
def ladder():
    return run(LadderSpec(**SMALL), inline=True)


def rung(ladder, name: str):
    return next(one for one in ladder.rungs if one.name == name)


def test_every_rung_is_there_in_order(ladder):
    assert tuple(one.name for one in ladder.rungs) == ORDER
    compiled_too = ORDER[-1:] if run(MachineSpec(), inline=True).operators.available else ()
    assert ladder.comparison.names == ORDER[:5] + compiled_too
    assert ladder.comparison.rounds == 5
    for one in ladder.rungs[:5]:
        assert one.outcome == "measured"
        assert one.seconds == ladder.comparison.seconds_of(one.name)
        assert one.max_absolute_error < 1e-5
        assert one.flops == 2 * 12 * 5
        assert one.flops_per_s == pytest.approx(one.flops / one.seconds)
        assert one.traffic_bytes >= ladder.least_bytes


def test_what_was_not_measured_says_why(ladder):
    assert rung(ladder, "torch.compile").outcome == "skipped"
    assert "not asked for" in rung(ladder, "torch.compile").reason


def test_the_compiled_operator_is_a_rung_like_the_others():
    if not run(MachineSpec(), inline=True).operators.available:
        pytest.skip("the operators are not built on this machine")
    for problem, flops in (("weighted_row_sum", 2 * 12 * 5), ("matmul", 2 * 12 * 12 * 5)):
        found = run(LadderSpec(problem=problem, **SMALL), inline=True)
        operator = rung(found, "compiled operator")
        assert operator.outcome == "measured"
        assert operator.seconds == found.comparison.seconds_of("compiled operator")
        assert operator.max_absolute_error < 1e-5
        assert operator.flops == flops
        assert operator.traffic_bytes == found.least_bytes
        assert operator.extra_bytes == 0
        assert operator.nodes == 3  # its own and an accumulator per input
        assert "torch.ops.atlas" in operator.notes[0]


def test_without_compiled_operators_their_rung_says_why(monkeypatch):
    nothing = run(MachineSpec(), inline=True).operators.__class__
    state = nothing(name="compiled operators", available=False, detail="no compiler: none found (c++, $CXX)")
    monkeypatch.setattr(compiled, "find_operators", lambda: state)
    found = run(LadderSpec(**SMALL), inline=True)
    assert rung(found, "compiled operator").outcome == "not built"
    assert rung(found, "compiled operator").reason == state.detail
    assert rung(found, "compiled operator").seconds is None
    assert found.comparison.names == ORDER[:5]


@pytest.mark.parametrize("problem", ["pairwise_distance", "outer_sum", "squared_diagonal"])
def test_a_problem_without_an_operator_says_so(problem):
    operator = rung(run(LadderSpec(problem=problem, **SMALL), inline=True), "compiled operator")
    assert operator.outcome == "skipped"
    assert "no operator of its own" in operator.reason


def test_shapes_and_least_bytes_are_those_of_the_problem(ladder):
    assert ladder.input_shapes == (("x", (12, 5)), ("weights", (5,)))
    assert ladder.output_shape == (12,)
    assert ladder.least_bytes == 4 * (12 * 5 + 5 + 12)


def test_a_loop_that_would_take_too_long_is_estimated_and_not_run():
    found = run(LadderSpec(rows=1000, columns=400, rounds=5), inline=True)
    loop = rung(found, "element loop")
    assert loop.outcome == "skipped"
    assert loop.steps == 400_000
    assert loop.estimated_s > 0.25
    assert "estimated" in loop.reason
    assert loop.seconds is None
    assert "element loop" not in found.comparison.names
    assert rung(found, "einsum").outcome == "measured"


def test_a_large_intermediate_is_told_and_not_made():
    inputs = make_inputs("pairwise_distance", 2000, 50, torch.float32, seed=0)
    by_name = {one.name: one for one in plan("pairwise_distance", 2000, 50, inputs)}
    assert by_name["broadcast"].way is None
    assert by_name["broadcast"].reason == (
        "its intermediate of rows * rows * columns elements needs 1.5 GiB at once; the limit is 1.0 GiB"
    )  # 2 * 2000 * 2000 * 50 * 4 B
    assert by_name["matmul"].way is not None


def test_a_way_that_does_not_exist_says_so():
    found = run(LadderSpec(problem="squared_diagonal", rows=6, rounds=5), inline=True)
    assert rung(found, "row loop").outcome == "skipped"
    assert "loop over rows is the element loop" in rung(found, "row loop").reason


def test_distances_through_a_matrix_product_are_less_exact():
    """|x|^2 + |y|^2 - 2 x.y cancels for near points; the direct difference does not."""
    found = run(LadderSpec(problem="pairwise_distance", rows=150, columns=3, rounds=5), inline=True)
    direct, product = (rung(found, name).max_relative_error for name in ("broadcast", "matmul"))
    assert direct < product


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_other_dtypes_are_held_against_float64_too(dtype):
    found = run(LadderSpec(dtype=dtype, **SMALL), inline=True)
    size = torch.finfo(getattr(torch, dtype)).eps
    assert rung(found, "broadcast").max_absolute_error < 100 * size
    assert rung(found, "broadcast").traffic_bytes == (3 * 60 + 5 + 12) * getattr(torch, dtype).itemsize


def test_without_a_compiler_torch_compile_says_so(monkeypatch):
    nothing = compiled.find_compiler().__class__(name="C++ compiler", available=False, detail="none found (c++, $CXX)")
    monkeypatch.setattr(compiled, "find_compiler", lambda: nothing)
    found = run(CompiledLadderSpec(**SMALL), inline=True)
    assert rung(found, "torch.compile").outcome == "failed"
    assert rung(found, "torch.compile").reason == "torch.compile needs a C++ compiler: none found (c++, $CXX)"
    assert rung(found, "einsum").outcome == "measured"


def test_what_the_compiler_says_is_the_reason(monkeypatch):
    def refuse(way, **options):
        def call(*inputs):
            raise RuntimeError("CppCompileError: C++ compile error\nline 2\nline 3\nline 4")

        return call

    monkeypatch.setattr(torch, "compile", refuse)
    found = run(CompiledLadderSpec(**SMALL), inline=True)
    reason = rung(found, "torch.compile").reason
    assert reason == "RuntimeError: CppCompileError: C++ compile error\nline 2\nline 3"


@pytest.mark.slow
def test_torch_compile_is_measured_with_its_cold_start_apart():
    found = run(CompiledLadderSpec(**SMALL))
    one = rung(found, "torch.compile")
    if one.outcome == "failed":
        assert one.reason
        pytest.skip(f"torch.compile does not work here: {one.reason}")
    assert one.cold_s > max(found.comparison.first_call_s)
    assert one.max_absolute_error < 1e-5
    assert "torch.compile" in found.comparison.names


@pytest.mark.parametrize("problem", ["matmul", "pairwise_distance"])
@pytest.mark.parametrize("kind", [LadderSpec, CompiledLadderSpec])
def test_too_many_multiplications_are_refused_in_words(kind, problem):
    with pytest.raises(ValueError, match=rf"{kind.__name__}.rows \* rows \* columns of {problem} must be at most"):
        kind(problem=problem, rows=20_000, columns=11)


def test_too_many_bytes_are_refused_with_the_prediction():
    with pytest.raises(Fault, match="inputs and results"):
        run(LadderSpec(problem="outer_sum", rows=20_000, columns=20_000), inline=True)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"smallest": 64, "largest": 64}, "smallest must be below largest, 64; received 64"),
        ({"first": "einsum", "second": "einsum"}, "must be another rung than first; received 'einsum' twice"),
        ({"problem": "squared_diagonal", "first": "row loop"}, "one element of each row counts"),
        ({"problem": "matmul", "largest": 20_000}, "must be at most 4,294,967,296; received 20,000"),
    ],
)
def test_a_sweep_refuses_nonsense_in_words(fields, words):
    with pytest.raises(ValueError, match=words):
        SweepSpec(**fields)


@pytest.mark.parametrize(
    ("smallest", "largest", "points"), [(1, 2, 16), (2, 1024, 10), (3, 20_000, 16), (1, 20_000, 2)]
)
def test_sizes_rise_from_end_to_end_evenly_on_a_log_scale(smallest, largest, points):
    sizes = SweepSpec(smallest=smallest, largest=largest, points=points).sizes()
    assert sizes[0] == smallest
    assert sizes[-1] == largest
    assert list(sizes) == sorted(set(sizes))
    assert len(sizes) <= points
    growth = (largest / smallest) ** (1 / (points - 1))
    for small, large in pairwise(sizes):
        assert large <= math.ceil((small + 0.5) * growth + 0.5)


def test_a_sweep_measures_every_rung_until_its_loop_gets_too_long():
    found = run(SweepSpec(smallest=2, largest=512, points=3, rounds=5), inline=True)
    assert found.sizes == (2, 32, 512)
    by_name = {one.name: one for one in found.series}
    assert by_name["einsum"].sizes == (2.0, 32.0, 512.0)
    assert all(len(samples) == 5 for samples in by_name["einsum"].samples_s)
    assert by_name["element loop"].sizes[0] == 2.0
    assert 512.0 not in by_name["element loop"].sizes
    assert found.notes[0].startswith("element loop: not measured from size ")
    assert "estimated" in found.notes[0]


@pytest.mark.parametrize(("grow", "shape"), [("rows", (9, 6)), ("columns", (5, 9)), ("both", (9, 9))])
def test_what_does_not_grow_stays_as_given(grow, shape):
    assert SweepSpec(grow=grow, rows=5, columns=6).shape_at(9) == shape


def test_progress_rises_to_the_end():
    told = []
    run(SweepSpec(smallest=2, largest=4, points=2, rounds=5), inline=True, on_progress=lambda *at: told.append(at))
    fractions = [fraction for _, fraction in told]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < fractions[-1] <= 1
    assert any("size 4" in stage for stage, _ in told)


def test_the_script_names_nothing_of_the_project():
    for spec in (LadderSpec(), CompiledLadderSpec(), SweepSpec()):
        assert "engine" not in script_for(spec)
