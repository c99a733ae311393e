"""Time of the rungs over sizes, and where one of two overtakes the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.operator_ladder.problem import InstructionSets, build, instruction_sets
from engine.operator_ladder.results import OperatorSweep
from engine.operator_ladder.spec import OperatorSweepSpec
from engine.operators.load import load
from engine.runner.contract import ProgressSink
from engine.timing import compare
from engine.timing.clock import torch_threads
from engine.timing.comparison import Comparison, Series
from engine.timing.crossover import find_crossovers

CALL_LIMIT_S = 0.3
BUDGET_S = 90.0
MINIMUM_SAMPLE_S = 5e-4

Left = dict[str, str]


def sweep_operator(spec: OperatorSweepSpec, progress: ProgressSink) -> OperatorSweep:
    """One comparison per size; a rung left out at one size is left out at the larger ones."""
    load()
    sizes, ended, measured = spec.sizes(), Left(), list[Comparison]()
    with instruction_sets() as sets, torch_threads(spec.threads):
        for number, size in enumerate(sizes):
            found = _at(spec, size, sets, ended, partial(_report, progress, size, number, len(sizes)))
            if found is None:
                break
            measured.append(found)
    series = tuple(one for rung in spec.row.rungs if (one := _series(rung, sizes, measured)).sizes)
    chosen = {one.name: one for one in series}
    pair = [chosen[name] for name in (spec.first, spec.second) if name in chosen]
    return OperatorSweep(
        sizes=sizes[: len(measured)],
        series=series,
        crossovers=find_crossovers(*pair) if len(pair) == 2 else (),
        notes=tuple(f"{rung}: {reason}." for rung, reason in ended.items()),
    )


def _report(progress: ProgressSink, size: int, number: int, sizes: int, stage: str, fraction: float) -> None:
    progress(f"size {size}: {stage}", (number + fraction) / sizes)


def _at(
    spec: OperatorSweepSpec, size: int, sets: InstructionSets, ended: Left, progress: ProgressSink
) -> Comparison | None:
    works = _works(spec, size, sets, ended)
    if len(works) < 2:
        return None
    return compare(
        works,
        rounds=spec.rounds,
        threads=spec.threads,
        minimum_sample_s=MINIMUM_SAMPLE_S,
        budget_s=BUDGET_S / len(spec.sizes()),
        on_progress=progress,
    )


def _works(spec: OperatorSweepSpec, size: int, sets: InstructionSets, ended: Left) -> dict[str, Callable[[], Any]]:
    """Every rung that still runs at this size; each is called once to see that it does, and how long it takes."""
    problem, works = build(spec.row, spec.shape_at(size), spec.dtype, spec.work, spec.seed), {}
    for way in spec.row.ways:
        if way.rung in ended:
            continue
        if way.needs_library and not load().compiled:
            ended[way.rung] = load().reason
            continue
        try:
            work = sets.within(sets.of(way), problem.prepare(problem.function(way.function)).work)
            seconds = _seconds(work)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            ended[way.rung] = str(error).splitlines()[0]
            continue
        if seconds > CALL_LIMIT_S:
            ended[way.rung] = (
                f"not measured from size {size} on: {seconds:.2g} s per call, the limit is {CALL_LIMIT_S} s"
            )
        else:
            works[way.rung] = work
    return works


def _seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of this thread: what a busy machine adds is no reason to leave a rung out."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _series(rung: str, sizes: tuple[int, ...], measured: list[Comparison]) -> Series:
    at = [(s, c.samples_s[c.names.index(rung)]) for s, c in zip(sizes, measured, strict=False) if rung in c.names]
    return Series(rung, tuple(float(s) for s, _ in at), tuple(samples for _, samples in at))
