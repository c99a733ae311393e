"""Confine a worker process: resource limits, Landlock, seccomp. What is absent is reported, never an error."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from pathlib import Path

from engine.runner import landlock, seccomp
from engine.runner.contract import MEBIBYTE, Limits, Need
from engine.runner.feature import Feature

if sys.platform != "win32":
    import resource

_REPORT_RESERVE_BYTES = 256 * MEBIBYTE
"""Address space kept back between soft and hard limit, to word the fault when memory ran out."""

_OOM_SCORE = 800
"""The kernel's out-of-memory choice, -1000..1000: a worker goes long before the app."""


_features: list[Feature] = []


def applied_features() -> tuple[Feature, ...]:
    """What `confine` did in this process; empty where it has not run (inline)."""
    return tuple(_features)


def confine(limits: Limits, needs: frozenset[Need], private: Path) -> None:
    """Apply every protection this platform has; only files below `private` stay writable."""
    _grow_stack(300)
    _features[:] = [
        _limit_resources(limits, needs),
        _volunteer_for_oom(),
        landlock.restrict(private, needs),
        seccomp.restrict(needs),
    ]


def _grow_stack(levels: int) -> int:
    """Nest C calls, so that the stack has its pages before the limit: one that cannot grow ends in SIGSEGV."""
    return max((levels,), key=lambda left: _grow_stack(left - 1) if left else 0)


def lift_memory_limit() -> None:
    """Use the reserve, so that an out-of-memory fault can be worded and sent."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _limit_resources(limits: Limits, needs: frozenset[Need]) -> Feature:
    name = "resource limits"
    if sys.platform == "win32":
        return Feature(name, False, "Windows has no setrlimit; only the wall clock is enforced")
    missing = []
    for what, soft, hard in _wanted(limits, needs):
        try:
            resource.setrlimit(getattr(resource, what), (soft, hard))
        except (OSError, ValueError) as error:
            missing.append(f"{what}: {error}")
    if missing:
        return Feature(name, False, "not accepted here: " + "; ".join(missing))
    space = "address space (lifted for this job)" if "accelerator" in needs else "address space"
    return Feature(name, True, f"{space}, processor time, file size; no core files")


def _wanted(limits: Limits, needs: frozenset[Need]) -> list[tuple[str, int, int]]:
    used_s = math.ceil(time.process_time())  # a spawned worker has paid for its own warm-up
    wanted = [
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_CPU", used_s + limits.cpu_s, used_s + limits.cpu_s + 1),
        ("RLIMIT_FSIZE", limits.file_bytes, limits.file_bytes),
    ]
    baseline = _address_space_bytes()
    if baseline is not None and "accelerator" not in needs:
        ceiling = baseline + limits.memory_bytes
        wanted.append(("RLIMIT_AS", ceiling, ceiling + _REPORT_RESERVE_BYTES))
    return wanted


def _address_space_bytes() -> int | None:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _volunteer_for_oom() -> Feature:
    try:
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    except OSError as error:
        return Feature("killed first when memory runs out", False, f"{error.strerror}: /proc/self/oom_score_adj")
    return Feature("killed first when memory runs out", True, f"oom_score_adj {_OOM_SCORE}")
