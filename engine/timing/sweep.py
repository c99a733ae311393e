"""Two variants over sizes, and where one overtakes the other."""

from __future__ import annotations

from functools import partial
from typing import TypeVar, cast

import msgspec

from engine.runner.contract import ProgressSink
from engine.timing.comparison import Comparison, Series
from engine.timing.crossover import find_crossovers
from engine.timing.prepared import Drawn, prepare
from engine.timing.results import TimingSweep
from engine.timing.rounds import compare
from engine.timing.spec import TimingSweepSpec
from engine.timing.variant import StepVariant, Variant, naming

V = TypeVar("V", bound=Variant)

BUDGET_S = 60.0
MINIMUM_SAMPLE_S = 1e-3
SIZE_IS = {"rows": "rows", "columns": "columns", "both": "rows and columns"}


def at_size(variant: V, spec: TimingSweepSpec, size: int) -> V:
    """The variant at one size of the sweep; ValueError where the operator cannot be that large."""
    if isinstance(variant, StepVariant):
        model = msgspec.structs.replace(variant.model, batch=size)
        return cast(V, msgspec.structs.replace(variant, model=model))
    grown = {name: size for name in ("rows", "columns") if spec.grow in (name, "both")}
    return cast(V, msgspec.structs.replace(variant, **grown))


def sweep_timing(spec: TimingSweepSpec, progress: ProgressSink) -> TimingSweep:
    """One comparison per size; sizes too large for an operator are left out, which a note says."""
    sizes, notes = possible_sizes(spec)
    measured = [
        _at(spec, size, partial(_report, progress, size, number, len(sizes)), BUDGET_S / len(sizes))
        for number, size in enumerate(sizes)
    ]
    series = tuple(
        Series(name, tuple(map(float, sizes)), tuple(one.samples_s[place] for one in measured))
        for place, name in enumerate("AB")
    )
    return TimingSweep(
        size_is="batch" if isinstance(spec.a, StepVariant) else SIZE_IS[spec.grow],
        sizes=sizes,
        series=series,
        crossovers=find_crossovers(*series) if sizes else (),
        verdicts=tuple(one.winner or "" for one in measured),
        notes=notes,
    )


def possible_sizes(spec: TimingSweepSpec) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """(the sizes at which both sides can be, why the others are left out)."""
    kept, notes = [], []
    for size in spec.sizes():
        try:
            for name, variant in zip("AB", (spec.a, spec.b), strict=True):
                with naming(name):
                    at_size(variant, spec, size)
            kept.append(size)
        except ValueError as error:
            notes.append(f"size {size} left out: {error}")
    return tuple(kept), tuple(notes)


def _report(progress: ProgressSink, size: int, number: int, sizes: int, stage: str, fraction: float) -> None:
    progress(f"size {size}: {stage}", (number + fraction) / sizes)


def _at(spec: TimingSweepSpec, size: int, progress: ProgressSink, budget_s: float) -> Comparison:
    progress("preparing", 0.0)
    drawn: Drawn = {}
    pair = [prepare(at_size(variant, spec, size), spec.seed, drawn) for variant in (spec.a, spec.b)]
    return compare(
        dict(zip("AB", (made.work for made in pair), strict=True)),
        rounds=spec.rounds,
        threads=(spec.a.threads, spec.b.threads),
        minimum_sample_s=MINIMUM_SAMPLE_S,
        budget_s=budget_s,
        on_progress=progress,
    )
