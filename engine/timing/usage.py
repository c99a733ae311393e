"""The operating system's own counters of this process: where time went that no clock explains."""

from __future__ import annotations

import sys

from engine.timing.comparison import Usage

if sys.platform != "win32":
    import resource


def read_usage() -> Usage:
    """Since the process began, over all its threads; zeros where the system has no getrusage."""
    if sys.platform == "win32":
        return Usage()
    found = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(
        user_s=found.ru_utime,
        system_s=found.ru_stime,
        minor_faults=found.ru_minflt,
        major_faults=found.ru_majflt,
        waits=found.ru_nvcsw,
        preemptions=found.ru_nivcsw,
    )
