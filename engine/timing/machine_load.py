"""What else the machine did while samples were taken, read from /proc where there is one; no names."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from engine.timing.results import Machine

PROC = Path("/proc")
THROTTLED = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))
BUSY_SHARE = 0.1
_BUSY_FIELDS = (0, 1, 2, 5, 6)
"""user, nice, system, irq, softirq of the first line of /proc/stat (proc(5)); 7 is steal."""


@dataclass(frozen=True)
class Reading:
    """Counters since the machine began, in seconds; None where not readable."""

    wall_s: float
    own_s: float
    busy_s: float | None
    steal_s: float | None
    throttled_s: float | None
    processes: dict[int, float]
    load_average: float | None


def read_machine() -> Reading:
    """The counters now."""
    busy, steal = _machine_seconds()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return Reading(time.monotonic(), time.process_time(), busy, steal, _throttled(), _process_seconds(), load)


def between(start: Reading, end: Reading) -> Machine:
    """What happened between two readings."""
    wall = max(end.wall_s - start.wall_s, 1e-6)
    busy, steal, throttled = (
        None if a is None or b is None else b - a
        for a, b in ((start.busy_s, end.busy_s), (start.steal_s, end.steal_s), (start.throttled_s, end.throttled_s))
    )
    used = {pid: seconds - start.processes.get(pid, 0.0) for pid, seconds in end.processes.items()}
    used.pop(os.getpid(), None)
    return Machine(
        cores=os.cpu_count() or 1,
        load_average=start.load_average,
        others_busy=None if busy is None else max(0.0, busy - (end.own_s - start.own_s)) / wall,
        busy_processes=sum(s / wall > BUSY_SHARE for s in used.values()) if end.processes else None,
        steal=None if steal is None else max(0.0, steal) / wall,
        throttled_s=throttled,
        measured_at_s=time.time(),
    )


def _machine_seconds() -> tuple[float | None, float | None]:
    try:
        ticks = os.sysconf("SC_CLK_TCK")
        fields = [int(word) / ticks for word in (PROC / "stat").read_text().splitlines()[0].split()[1:]]
        return sum(fields[place] for place in _BUSY_FIELDS), fields[7]
    except (OSError, ValueError, IndexError, AttributeError):
        return None, None


def _process_seconds() -> dict[int, float]:
    """Processor seconds of every process whose counters can be read."""
    found: dict[int, float] = {}
    with contextlib.suppress(OSError, ValueError, AttributeError):
        ticks = os.sysconf("SC_CLK_TCK")
        for entry in PROC.iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    words = (entry / "stat").read_text().rpartition(")")[2].split()
                    found[int(entry.name)] = (int(words[11]) + int(words[12])) / ticks
    return found


def _throttled() -> float | None:
    for path in THROTTLED:
        with contextlib.suppress(OSError, ValueError):
            lines = dict(line.split() for line in path.read_text().splitlines())
            if "throttled_usec" in lines:
                return int(lines["throttled_usec"]) / 1e6
            if "throttled_time" in lines:
                return int(lines["throttled_time"]) / 1e9
    return None
