"""Time of the rungs over sizes, and where one of two overtakes the other."""

from __future__ import annotations

from functools import partial

import torch

from engine.runner.contract import ProgressSink
from engine.timing import compare
from engine.timing.crossover import find_crossovers
from engine.timing.spec import Comparison, Series
from engine.vectorisation.plan import plan
from engine.vectorisation.spec import PlainRung, Sweep, SweepSpec
from engine.vectorisation.ways import make_inputs, plain_rungs

LOOP_LIMIT_S = 0.05
BUDGET_S = 80.0
MINIMUM_SAMPLE_S = 5e-4


def sweep_ladder(spec: SweepSpec, progress: ProgressSink) -> Sweep:
    """One comparison per size; a rung left out at one size is left out at the larger ones."""
    sizes, ended, measured = spec.sizes(), dict[PlainRung, str](), list[Comparison]()
    for number, size in enumerate(sizes):
        within = partial(_report, progress, size, number, len(sizes))
        measured.append(_at(spec, size, ended, BUDGET_S / len(sizes), within))
    series = tuple(one for rung in plain_rungs() if (one := _series(rung, sizes, measured)).sizes)
    chosen = {one.name: one for one in series}
    pair = [chosen[name] for name in (spec.first, spec.second) if name in chosen]
    return Sweep(
        sizes=sizes,
        series=series,
        crossovers=find_crossovers(*pair) if len(pair) == 2 else (),
        notes=tuple(f"{rung}: {reason}." for rung, reason in ended.items()),
    )


def _report(progress: ProgressSink, size: int, number: int, sizes: int, stage: str, fraction: float) -> None:
    progress(f"size {size}: {stage}", (number + fraction) / sizes)


def _at(spec: SweepSpec, size: int, ended: dict[PlainRung, str], budget_s: float, progress: ProgressSink) -> Comparison:
    progress("trying the loops", 0.0)
    rows, columns = spec.shape_at(size)
    inputs = make_inputs(spec.problem, rows, columns, getattr(torch, spec.dtype), spec.seed)
    planned = plan(spec.problem, rows, columns, inputs, LOOP_LIMIT_S)
    for one in planned:
        if one.way is None and one.name not in ended:
            ended[one.name] = f"not measured from size {size} on: {one.reason}"
    ways = {one.name: one.way for one in planned if one.way is not None and one.name not in ended}
    with torch.no_grad():
        return compare(
            {name: partial(way, *inputs.values()) for name, way in ways.items()},
            rounds=spec.rounds,
            threads=spec.threads,
            minimum_sample_s=MINIMUM_SAMPLE_S,
            budget_s=budget_s,
            on_progress=progress,
        )


def _series(rung: PlainRung, sizes: tuple[int, ...], measured: list[Comparison]) -> Series:
    at = [(s, c.samples_s[c.names.index(rung)]) for s, c in zip(sizes, measured, strict=True) if rung in c.names]
    return Series(rung, tuple(float(s) for s, _ in at), tuple(samples for _, samples in at))
