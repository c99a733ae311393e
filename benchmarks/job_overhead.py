"""What one job costs beyond its work, in wall seconds: request, fork, confinement, answer, end of the worker."""

from __future__ import annotations

import os
import time
from statistics import median, quantiles

from benchmarks.empty_job.spec import EmptySpec
from benchmarks.row import Row
from engine import run, start_engine, stop_engine
from engine.runner.wire import EXTRA_SPECS

JOBS = 60
TARGET_S = 0.060


def measure() -> list[Row]:
    """Median over jobs run one after the other on a warm engine, none answered from the cache."""
    os.environ[EXTRA_SPECS] = EmptySpec.__module__
    start_engine()
    try:
        run(EmptySpec(number=0))
        seconds = [_one_job(number) for number in range(1, JOBS + 1)]
    finally:
        stop_engine()
    detail = f"95 % under {1e3 * quantiles(seconds, n=20)[-1]:.0f} ms, {JOBS} jobs"
    return [Row("overhead of an empty job", 1e3 * median(seconds), 1e3 * TARGET_S, "ms", detail)]


def _one_job(number: int) -> float:
    start = time.perf_counter()
    answer = run(EmptySpec(number=number))
    seconds = time.perf_counter() - start
    assert answer.number == number
    return seconds
