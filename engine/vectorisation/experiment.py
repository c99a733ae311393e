"""measure_ladder, measure_compiled_ladder, sweep_ladder: time, agreement, nodes and bytes of every way to write it."""

from __future__ import annotations

import math
from functools import partial

import msgspec
import torch

from engine.runner.contract import Price, ProgressSink
from engine.runner.faults import size
from engine.timing import compare
from engine.timing.clock import torch_threads
from engine.timing.spec import Comparison
from engine.vectorisation.account import count_nodes, distinct_bytes, take_account
from engine.vectorisation.compiled import NOT_ASKED, compile_way, compiled_operator
from engine.vectorisation.formulas import count, flops_formula
from engine.vectorisation.plan import INTERMEDIATE_LIMIT_BYTES, Planned, intermediate_bytes, plan
from engine.vectorisation.spec import CompiledLadderSpec, Ladder, LadderSpec, Rung, SweepSpec
from engine.vectorisation.sweep import sweep_ladder
from engine.vectorisation.ways import Inputs, Way, errors, make_inputs, reference, way_of

__all__ = ["measure_compiled_ladder", "measure_ladder", "price", "sweep_ladder"]

AnyLadder = LadderSpec | CompiledLadderSpec

BUDGET_S = 30.0
COUNTED_STEPS = 5000
"""Loops of more steps are not walked for nodes and bytes."""
REFUSALS = (RuntimeError, NotImplementedError, TypeError, ValueError)
ITEM_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}


def price(spec: AnyLadder | SweepSpec) -> Price:
    """Inputs and results in the dtype and in float64, and the largest intermediate three times; an upper estimate."""
    rows, columns = spec.shape_at(spec.largest) if isinstance(spec, SweepSpec) else (spec.rows, spec.columns)
    item = ITEM_BYTES[spec.dtype]
    elements = rows * rows if spec.problem == "squared_diagonal" else 2 * rows * columns
    result = {"matmul": rows * rows, "pairwise_distance": rows * rows, "outer_sum": rows * columns}
    held = elements * (2 * item + 8) + result.get(spec.problem, rows) * (5 * item + 4 * 8)
    between = 3 * min(intermediate_bytes(spec.problem, rows, columns, item), INTERMEDIATE_LIMIT_BYTES)
    return Price(
        predicted_bytes=held + between,
        what=f"inputs and results {size(held)}, intermediates of broadcasting {size(between)}",
    )


def measure_ladder(spec: LadderSpec, progress: ProgressSink) -> Ladder:
    """Every rung of plain PyTorch; a loop that would take too long is estimated instead, and says so."""
    return _measure(spec, Rung(name="torch.compile", outcome="skipped", reason=NOT_ASKED), None, progress)


def measure_compiled_ladder(spec: CompiledLadderSpec, progress: ProgressSink) -> Ladder:
    """The same with torch.compile of the broadcast rung; why not, where it cannot be compiled."""
    progress("torch.compile: the first call compiles, which takes 10 to 60 s", 0.05)
    way = way_of(spec.problem, "broadcast")
    assert way is not None
    with torch_threads(spec.threads):
        compiled, cold_s, reason = compile_way(way, _inputs(spec))
    formula = flops_formula(spec.problem, "broadcast")
    rung = Rung(
        name="torch.compile",
        outcome="measured" if compiled else "failed",
        reason=reason,
        cold_s=cold_s,
        flops=count(formula, spec.rows, spec.columns),
        flops_formula=formula,
        notes=("Compiled from the broadcast rung; its loops are fused, so no dispatched operation is left to count.",),
    )
    return _measure(spec, rung, compiled, progress)


def _inputs(spec: AnyLadder) -> Inputs:
    return make_inputs(spec.problem, spec.rows, spec.columns, getattr(torch, spec.dtype), spec.seed)


def _measure(spec: AnyLadder, compile_rung: Rung, compiled: Way | None, progress: ProgressSink) -> Ladder:
    inputs = _inputs(spec)
    progress("the same in float64", 0.2)
    wanted = reference(spec.problem, inputs)
    planned = plan(spec.problem, spec.rows, spec.columns, inputs)
    rungs = []
    for number, one in enumerate(planned):
        progress(f"checking {one.name}", 0.25 + 0.05 * number)
        rungs.append(_examine(spec, one, inputs, wanted))
    ways: dict[str, Way] = {
        one.name: one.way for one, rung in zip(planned, rungs, strict=True) if one.way and rung.outcome == "measured"
    }
    if compiled is not None:
        compile_rung = _agreeing(compile_rung, compiled, inputs, wanted)
        ways |= {"torch.compile": compiled}
    operator, operator_rung = compiled_operator(spec.problem)
    if operator is not None:
        operator_rung = _counted(
            _agreeing(_with_flops(spec, operator_rung), operator, inputs, wanted), operator, inputs
        )
        ways |= {operator_rung.name: operator}
    comparison = _compared(spec, ways, inputs, progress)
    return Ladder(
        rungs=tuple(_timed(rung, comparison) for rung in (*rungs, compile_rung, operator_rung)),
        comparison=comparison,
        input_shapes=tuple((name, tuple(tensor.shape)) for name, tensor in inputs.items()),
        output_shape=tuple(wanted.shape),
        least_bytes=sum(map(distinct_bytes, inputs.values())) + wanted.numel() * ITEM_BYTES[spec.dtype],
        result_sum=float(wanted.sum()),
    )


def _examine(spec: AnyLadder, one: Planned, inputs: Inputs, wanted: torch.Tensor) -> Rung:
    """Everything but time: agreement, bytes and nodes, or why the rung is left out."""
    rung = _with_flops(spec, Rung(name=one.name, outcome="measured", steps=one.steps))
    if one.way is None:
        return msgspec.structs.replace(rung, outcome="skipped", reason=one.reason, estimated_s=one.estimated_s)
    try:
        rung = _agreeing(rung, one.way, inputs, wanted)
    except REFUSALS as error:
        return msgspec.structs.replace(rung, outcome="failed", reason=f"{type(error).__name__}: {error}")
    if one.steps is not None and one.steps > COUNTED_STEPS:
        note = f"Nodes and bytes are counted for loops of up to {COUNTED_STEPS:,} steps; this one has {one.steps:,}."
        return msgspec.structs.replace(rung, notes=(note,))
    return _counted(rung, one.way, inputs)


def _with_flops(spec: AnyLadder, rung: Rung) -> Rung:
    formula = flops_formula(spec.problem, rung.name)
    return msgspec.structs.replace(rung, flops=count(formula, spec.rows, spec.columns), flops_formula=formula)


def _counted(rung: Rung, way: Way, inputs: Inputs) -> Rung:
    traffic, extra = take_account(way, inputs)
    return msgspec.structs.replace(rung, traffic_bytes=traffic, extra_bytes=extra, nodes=count_nodes(way, inputs))


def _agreeing(rung: Rung, way: Way, inputs: Inputs, wanted: torch.Tensor) -> Rung:
    with torch.no_grad():
        absolute, relative = errors(way(*inputs.values()), wanted)
    finite = {"max_absolute_error": absolute, "max_relative_error": relative}
    return msgspec.structs.replace(rung, **{name: v if math.isfinite(v) else None for name, v in finite.items()})


def _compared(spec: AnyLadder, ways: dict[str, Way], inputs: Inputs, progress: ProgressSink) -> Comparison | None:
    if len(ways) < 2:
        return None
    values = tuple(inputs.values())
    with torch.no_grad():
        return compare(
            {name: partial(way, *values) for name, way in ways.items()},
            rounds=spec.rounds,
            threads=spec.threads,
            budget_s=BUDGET_S,
            on_progress=lambda stage, fraction: progress(stage, 0.5 + 0.5 * fraction),
        )


def _timed(rung: Rung, comparison: Comparison | None) -> Rung:
    if comparison is None or rung.name not in comparison.names:
        return rung
    return msgspec.structs.replace(rung, seconds=comparison.seconds_of(rung.name))
