"""What a fresh output of every call costs beside a reused one, over sizes around malloc's largest threshold."""

from __future__ import annotations

import os
import platform
from functools import partial

import torch

from engine.runner.contract import ProgressSink
from engine.timing import operators
from engine.timing.catalogue import CATALOGUE
from engine.timing.machine_load import between, read_machine
from engine.timing.prepared import function_of
from engine.timing.results import MEBIBYTE, Allocated, Allocations
from engine.timing.rounds import compare
from engine.timing.spec import AllocationSpec

BUDGET_S = 16.0
COLUMNS = 256


def measure_allocation(spec: AllocationSpec, progress: ProgressSink) -> Allocations:
    """Time, page faults and bytes moved of `spec.operator` at every output size."""
    start, sizes = read_machine(), spec.sizes_mib()
    points = []
    for number, mib in enumerate(sizes):
        progress(f"output of {mib} MiB", number / len(sizes))
        within = partial(_report, progress, mib, number, len(sizes))
        points.append(_at(spec, mib * MEBIBYTE, BUDGET_S / len(sizes), within))
    return Allocations(
        points=tuple(points),
        page_bytes=os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096,
        allocator=" ".join(platform.libc_ver()).strip() or platform.system(),
        machine=between(start, read_machine()),
    )


def _report(progress: ProgressSink, mib: int, number: int, sizes: int, stage: str, fraction: float) -> None:
    progress(f"output of {mib} MiB: {stage}", (number + fraction) / sizes)


def _at(spec: AllocationSpec, output_bytes: int, budget_s: float, progress: ProgressSink) -> Allocated:
    row, dtype = CATALOGUE[spec.operator], getattr(torch, spec.dtype)
    generator = torch.Generator().manual_seed(spec.seed)
    shape = (output_bytes // (COLUMNS * dtype.itemsize), COLUMNS)
    count = 2 if row.operands == "x, y" else 1
    operands = tuple(torch.rand(shape, generator=generator).to(dtype) for _ in range(count))
    with torch.no_grad():
        out = torch.empty(shape, dtype=dtype)
        comparison = compare(
            {
                "fresh output": partial(function_of(row), *operands),
                "reused output": partial(getattr(operators, f"{row.name}_out"), *operands, out=out),
            },
            rounds=spec.rounds,
            minimum_sample_s=0.0,
            budget_s=budget_s,
            on_progress=progress,
        )
    return Allocated(output_bytes=output_bytes, moved_bytes=(count + 1) * output_bytes, comparison=comparison)
