"""What a fresh output of every call costs beside a reused one, over sizes around malloc's largest threshold."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from functools import partial
from statistics import median

import torch

from engine.runner.contract import ProgressSink
from engine.timing import operators
from engine.timing.catalogue import CATALOGUE
from engine.timing.heap import can_settle, without_holes
from engine.timing.machine_load import between, read_machine
from engine.timing.prepared import function_of
from engine.timing.results import MEBIBYTE, Allocated, Allocations
from engine.timing.rounds import compare
from engine.timing.spec import AllocationSpec
from engine.timing.usage import read_usage

Side = Callable[[], object]

BUDGET_S = 16.0
COLUMNS = 256
WARM_UP_ROUNDS = 3
CALLS_AS_FOUND = 3
NOT_SETTLED = (
    "malloc is not glibc's here, so its state could not be settled first: faults depend on what the process did before."
)


def measure_allocation(spec: AllocationSpec, progress: ProgressSink) -> Allocations:
    """Time, page faults and bytes moved of `spec.operator` at every output size.

    Faults are counted first with the heap as it was found; then everything is measured with a settled heap that has no
    hole an output above the threshold would fit into.
    """
    start, sizes = read_machine(), spec.sizes_mib()
    progress("the heap as it was found", 0.0)
    found = [_faults_as_found(_sides(spec, mib * MEBIBYTE)[0]) for mib in sizes]
    points = []
    for number, (mib, faults) in enumerate(zip(sizes, found, strict=True)):
        within = partial(_report, progress, mib, number, len(sizes))
        points.append(_at(spec, mib * MEBIBYTE, faults, BUDGET_S / len(sizes), within))
    return Allocations(
        points=tuple(points),
        page_bytes=os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096,
        allocator=" ".join(platform.libc_ver()).strip() or platform.system(),
        machine=between(start, read_machine()),
        notes=() if can_settle() else (NOT_SETTLED,),
    )


def _report(progress: ProgressSink, mib: int, number: int, sizes: int, stage: str, fraction: float) -> None:
    progress(f"output of {mib} MiB: {stage}", (number + fraction) / sizes)


def _sides(spec: AllocationSpec, output_bytes: int) -> tuple[Side, Side]:
    """(a fresh output of every call, the same output of every call)."""
    row, dtype = CATALOGUE[spec.operator], getattr(torch, spec.dtype)
    generator = torch.Generator().manual_seed(spec.seed)
    shape = (output_bytes // (COLUMNS * dtype.itemsize), COLUMNS)
    operands = tuple(torch.rand(shape, generator=generator).to(dtype) for _ in range(_count(spec)))
    out = torch.empty(shape, dtype=dtype)
    reused = partial(getattr(operators, f"{row.name}_out"), *operands, out=out)
    return partial(function_of(row), *operands), reused


def _count(spec: AllocationSpec) -> int:
    return 2 if CATALOGUE[spec.operator].operands == "x, y" else 1


def _faults_as_found(fresh: Side) -> float:
    """Minor page faults per call, median, after one call to warm up."""
    faults = []
    for _ in range(1 + CALLS_AS_FOUND):
        before = read_usage()
        fresh()
        faults.append(float((read_usage() - before).minor_faults))
    return median(faults[1:])


def _at(
    spec: AllocationSpec, output_bytes: int, faults_as_found: float, budget_s: float, progress: ProgressSink
) -> Allocated:
    with torch.no_grad(), without_holes(output_bytes):
        comparison = compare(
            dict(zip(("fresh output", "reused output"), _sides(spec, output_bytes), strict=True)),
            rounds=spec.rounds,
            warm_up_rounds=WARM_UP_ROUNDS,
            minimum_sample_s=0.0,
            budget_s=budget_s,
            on_progress=progress,
        )
    return Allocated(
        output_bytes=output_bytes,
        moved_bytes=(_count(spec) + 1) * output_bytes,
        comparison=comparison,
        faults_as_found=faults_as_found,
    )
