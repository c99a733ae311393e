"""Time that passes only when work says so: timings without a machine's noise."""

from __future__ import annotations

from collections.abc import Callable

from engine.timing import Clock


class FakeTime:
    """Seconds of CPU and wall that callables made here use up; `calls` lists who ran, in order."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.wall = 0.0
        self.calls: list[str] = []

    def work(self, name: str, cpu_s: float, wall_s: float | None = None) -> Callable[[], None]:
        def run() -> None:
            self.calls.append(name)
            self.cpu += cpu_s
            self.wall += cpu_s if wall_s is None else wall_s

        return run

    @property
    def clock(self) -> Clock:
        return Clock(cpu=lambda: self.cpu, wall=lambda: self.wall, resolution_s=1e-9)
