"""The machine's limits, measured as rungs are: bytes moved by copies and in place, and operations on numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import torch

from engine.operator_ladder.problem import InstructionSets, instruction_sets
from engine.operator_ladder.results import Ceiling, Roofline
from engine.operator_ladder.row import ATLAS
from engine.operator_ladder.spec import RooflineSpec
from engine.operators.load import load
from engine.runner.contract import MEBIBYTE, ProgressSink
from engine.timing import compare
from engine.timing.clock import torch_threads

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
USUAL_BYTES = {2: MEBIBYTE, 3: 0}
"""Of a cache level that the system says nothing of."""
LARGEST_BYTES = 512 * MEBIBYTE
SHARED_CACHE_BYTES = 32 * MEBIBYTE
MATRIX = 768
FMA_ROUNDS = 400
BUDGET_S = 6.0
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

Limit = tuple[Ceiling, Callable[[], Any]]


def measure_roofline(spec: RooflineSpec, progress: ProgressSink) -> Roofline:
    """Copies and in-place additions in the second-level cache, in the last level, and beyond; multiply-adds on
    registers where the compiled operators are there, and a matrix product."""
    second, last = cache_bytes(2), cache_bytes(3)
    load()
    with instruction_sets() as sets, torch_threads(spec.threads):
        limits = [*_bandwidths(spec, second, last), *_flops(spec, sets)]
        comparison = compare(
            {one.name: work for one, work in limits},
            rounds=spec.rounds,
            threads=spec.threads,
            budget_s=BUDGET_S,
            on_progress=progress,
        )
    measured = zip((one for one, _ in limits), comparison.samples_s, strict=True)
    return Roofline(
        ceilings=tuple(msgspec.structs.replace(one, samples_s=samples) for one, samples in measured),
        cache_bytes=second,
        shared_cache_bytes=last,
        threads=spec.threads,
        notes=comparison.notes,
    )


def cache_bytes(level: int) -> int:
    """Bytes of a cache level as Linux tells them, else a usual size."""
    for index in sorted(CACHES.glob("index*")):
        try:
            if int((index / "level").read_text()) == level:
                text = (index / "size").read_text().strip()
                return int(text.rstrip("KMG")) * UNITS.get(text[-1], 1)
        except (OSError, ValueError):
            continue
    return USUAL_BYTES[level]


def _bandwidths(spec: RooflineSpec, second: int, last: int) -> Iterator[Limit]:
    beyond = min(max(2 * last, 64 * second), LARGEST_BYTES)
    places = [("L2 cache", second // 2)]
    places += [("last cache", min(SHARED_CACHE_BYTES, last // 4))] if last >= 16 * second else []
    for where, working_set in (*places, ("memory", beyond)):
        yield from _moves(where, working_set, getattr(torch, spec.dtype))


def _moves(where: str, working_set: int, dtype: torch.dtype) -> Iterator[Limit]:
    """A copy of one half of the working set to the other, and an addition in place to all of it."""
    whole = torch.zeros(working_set // dtype.itemsize, dtype=dtype)
    source, target = whole.chunk(2)
    moved = source.nbytes + target.nbytes
    yield _ceiling(f"copy, {where}", moved, working_set, "target.copy_(source)"), partial(target.copy_, source)
    yield _ceiling(f"in place, {where}", 2 * whole.nbytes, working_set, "x.neg_()"), whole.neg_


def _ceiling(name: str, moved: int, working_set: int, code: str) -> Ceiling:
    return Ceiling(name=name, kind="bytes", per_call=moved, working_set_bytes=working_set, samples_s=(), code=code)


def _flops(spec: RooflineSpec, sets: InstructionSets) -> Iterator[Limit]:
    if load().compiled and hasattr(torch.ops.atlas, "fma_rate") and spec.dtype in ("float32", "float64"):
        for name in ATLAS.values():
            try:
                sets.use(name)
            except RuntimeError:  # this processor lacks it
                continue
            call = partial(torch.ops.atlas.fma_rate, FMA_ROUNDS, spec.dtype == "float64")
            work = sets.within(name, call)
            yield _compute(f"multiply-add, {name}", work(), f"fma_rate({FMA_ROUNDS}), {name}"), work
    a, b = (torch.randn(MATRIX, MATRIX).to(getattr(torch, spec.dtype)) for _ in range(2))
    yield _compute("torch.mm", 2 * MATRIX**3, f"torch.mm, {MATRIX} cubed, {spec.dtype}"), partial(torch.mm, a, b)


def _compute(name: str, flops: int, code: str) -> Ceiling:
    return Ceiling(name=name, kind="flops", per_call=flops, working_set_bytes=0, samples_s=(), code=code)
