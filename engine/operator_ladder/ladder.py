"""Every rung of one operator: agreement with float64, memory, then time in interleaved rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from torch import Tensor

from engine.operator_ladder.formulas import EPS
from engine.operator_ladder.memory import peak_of, saved_by, traffic_of
from engine.operator_ladder.problem import (
    InstructionSets,
    Prepared,
    Problem,
    build,
    error_in_eps,
    instruction_sets,
    reference,
    tensors,
)
from engine.operator_ladder.results import OperatorLadder, Rung
from engine.operator_ladder.row import INDUCTOR, Way
from engine.operator_ladder.spec import (
    AnyLadderSpec,
    CompiledOperatorLadderSpec,
    OperatorLadderSpec,
    flops_of,
    least_bytes_of,
)
from engine.operators.load import Loaded, load
from engine.runner.contract import ProgressSink
from engine.runner.faults import error_text, is_memory_error
from engine.timing import compare
from engine.timing.clock import torch_threads
from engine.timing.comparison import Comparison
from engine.timing.compiled import compile_function, one_compile_thread

BUDGET_S = 8.0
"""Wall seconds of all rounds; a note says where fewer were done for it."""
SLOW_LIMIT_S = 0.4
"""A naive rung that would take longer per call is not run."""
TRIED_SHARE = 16
_TOLD_LINES = 3

Results = tuple[list[Tensor], list[Tensor]]


@dataclass(frozen=True)
class Tried:
    """A rung with its call, None where it is left out."""

    rung: Rung
    work: Callable[[], Any] | None = None


def measure_operator_ladder(spec: OperatorLadderSpec, progress: ProgressSink) -> OperatorLadder:
    """Every rung; what cannot run says why."""
    return _measure(spec, progress)


def measure_compiled_operator_ladder(spec: CompiledOperatorLadderSpec, progress: ProgressSink) -> OperatorLadder:
    """The same with torch.compile of the composed way; why not, where it cannot be compiled."""
    return _measure(spec, progress)


def _measure(spec: AnyLadderSpec, progress: ProgressSink) -> OperatorLadder:
    loaded = load()
    with instruction_sets() as sets, torch_threads(spec.threads):
        problem = build(spec.row, spec.sizes, spec.dtype, spec.work, spec.seed)
        progress("the same in float64", 0.05)
        wanted = reference(problem)
        tried = [_try(spec, way, problem, wanted, sets, loaded, progress) for way in spec.row.ways]
        if isinstance(spec, CompiledOperatorLadderSpec):
            progress("torch.compile: the first call compiles, which takes 10 to 60 s", 0.3)
            tried.append(_compiled(spec, problem, wanted))
        comparison = _compared(spec, tried, progress)
    return OperatorLadder(
        rungs=tuple(_timed(one.rung, comparison) for one in tried),
        comparison=comparison,
        input_shapes=tuple(tuple(x.shape) for x in tensors(problem.inputs))[:4],
        output_bytes=sum(x.numel() for x in wanted[0]) * problem_item(problem),
        flops=flops_of(spec, spec.sizes),
        least_bytes=least_bytes_of(spec, spec.sizes),
        total=float(sum(float(x.sum()) for x in wanted[0])),
        is_compiled=loaded.compiled,
        reason=loaded.reason,
        instruction_set=sets.best,
    )


def problem_item(problem: Problem) -> int:
    """Bytes of an element of the inputs."""
    return next(tensors(problem.inputs)).element_size()


def _try(
    spec: AnyLadderSpec,
    way: Way,
    problem: Problem,
    wanted: Results,
    sets: InstructionSets,
    loaded: Loaded,
    progress: ProgressSink,
) -> Tried:
    rung = Rung(name=way.rung, code=way.code, outcome="measured")
    if way.rung in spec.left_out:
        return Tried(msgspec.structs.replace(rung, outcome="skipped", reason="not asked for"))
    if way.needs_library and not loaded.compiled:
        return Tried(msgspec.structs.replace(rung, outcome="not built", reason=loaded.reason))
    progress(f"checking {way.rung}", 0.1 + 0.2 * spec.row.ways.index(way) / len(spec.row.ways))
    if way.is_slow and (seconds := _estimated(spec, way)) > SLOW_LIMIT_S:
        reason = f"would take about {seconds:.2g} s per call, estimated from a sixteenth of the rows"
        return Tried(msgspec.structs.replace(rung, outcome="skipped", reason=reason, estimated_s=seconds))
    if way.has_own_mask:
        wanted = ([], [])
    return _examine(rung, problem, problem.function(way.function), sets, sets.of(way), wanted, EPS[spec.dtype])


def _estimated(spec: AnyLadderSpec, way: Way) -> float:
    """Seconds of one call, from a sixteenth of the rows."""
    rows = max(1, spec.rows // TRIED_SHARE)
    small = build(spec.row, (rows, spec.columns, spec.inner), spec.dtype, spec.work, spec.seed)
    work = small.prepare(small.function(way.function)).work
    work()
    start = time.thread_time()
    work()
    return (time.thread_time() - start) * spec.rows / rows


def _examine(
    rung: Rung,
    problem: Problem,
    function: Callable[..., Any],
    sets: InstructionSets,
    instruction_set: str,
    wanted: Results,
    eps: float,
) -> Tried:
    """Everything but time, or what went wrong in its own words."""
    try:
        sets.use(instruction_set)
        prepared = problem.prepare(function)
        rung = _with_errors(rung, prepared, wanted, eps)
        rung = _with_memory(rung, prepared, problem)
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        if is_memory_error(error):
            raise
        told = "\n".join(error_text(error).strip().splitlines()[:_TOLD_LINES])
        return Tried(msgspec.structs.replace(rung, outcome="failed", reason=f"{type(error).__name__}: {told}"))
    return Tried(rung, sets.within(instruction_set, prepared.work))


def _with_errors(rung: Rung, prepared: Prepared, wanted: Results, eps: float) -> Rung:
    results, gradients = prepared.results()
    if not wanted[0]:
        return rung
    return msgspec.structs.replace(
        rung,
        error_eps=error_in_eps(results, wanted[0], eps),
        gradient_error_eps=error_in_eps(gradients, wanted[1], eps) if gradients else None,
    )


def _with_memory(rung: Rung, prepared: Prepared, problem: Problem) -> Rung:
    if problem.row.is_step:
        prepared.work()  # the first step of torch.optim allocates its state
    saved, saved_bytes = saved_by(prepared.work) if problem.with_backward else (None, None)
    return msgspec.structs.replace(
        rung,
        saved_tensors=saved,
        saved_bytes=saved_bytes,
        peak_bytes=peak_of(prepared.work),
        traffic_bytes=None if problem.row.is_step else traffic_of(prepared.work),
    )


def _compiled(spec: CompiledOperatorLadderSpec, problem: Problem, wanted: Results) -> Tried:
    """torch.compile of the composed way: its cold start, then like any other."""
    way = spec.row.way(spec.row.compiled_from)
    rung = Rung(name=INDUCTOR, code=f"torch.compile({way.function})", outcome="measured")
    try:
        with one_compile_thread():
            prepared = problem.prepare(compile_function(problem.function(way.function)))
            start = time.perf_counter()
            rung = _with_errors(rung, prepared, wanted, EPS[spec.dtype])
            cold_s = time.perf_counter() - start
            saved, saved_bytes = saved_by(prepared.work) if problem.with_backward else (None, None)
            peak = peak_of(prepared.work)
    except Exception as error:  # whatever the compiler says is the lesson
        told = "\n".join(error_text(error).strip().splitlines()[:_TOLD_LINES])
        return Tried(msgspec.structs.replace(rung, outcome="failed", reason=f"{type(error).__name__}: {told}"))
    found = {"saved_tensors": saved, "saved_bytes": saved_bytes, "peak_bytes": peak, "cold_s": cold_s}
    return Tried(msgspec.structs.replace(rung, **found), prepared.work)


def _compared(spec: AnyLadderSpec, tried: list[Tried], progress: ProgressSink) -> Comparison | None:
    works = {one.rung.name: one.work for one in tried if one.work is not None}
    if len(works) < 2:
        return None
    return compare(
        works,
        rounds=spec.rounds,
        threads=spec.threads,
        budget_s=BUDGET_S,
        on_progress=lambda stage, fraction: progress(stage, 0.4 + 0.6 * fraction),
    )


def _timed(rung: Rung, comparison: Comparison | None) -> Rung:
    if comparison is None or rung.name not in comparison.names:
        return rung
    faults = comparison.faults[comparison.names.index(rung.name)]
    return msgspec.structs.replace(
        rung, seconds=comparison.seconds_of(rung.name), faults=sorted(faults)[len(faults) // 2]
    )


__all__ = ["measure_compiled_operator_ladder", "measure_operator_ladder"]
