"""Two clocks read around a sample, and the wait for an accelerator that works on after a call has returned."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from engine.garbage import collection_paused
from engine.timing.comparison import Usage
from engine.timing.usage import read_usage

_NOT_ACCELERATORS = {"cpu", "meta"}


@dataclass(frozen=True)
class Clock:
    """Thread CPU seconds, wall seconds, and what the operating system counted."""

    cpu: Callable[[], float] = time.thread_time
    wall: Callable[[], float] = time.perf_counter
    resolution_s: float = time.get_clock_info("thread_time").resolution
    usage: Callable[[], Usage] = read_usage

    def thread_seconds(self, work: Callable[[], object]) -> float:
        """Thread CPU seconds of one call, garbage collection held back."""
        with collection_paused():
            start = self.cpu()
            work()
            return self.cpu() - start

    def sample(self, work: Callable[[], object], calls: int, wait: Callable[[], None]) -> tuple[float, float]:
        """(thread CPU, wall) seconds of `calls` calls together; `wait` runs before and is part of it at the end."""
        with collection_paused():
            wait()
            wall, cpu = self.wall(), self.cpu()
            for _ in repeat(None, calls):
                work()
            wait()
            return self.cpu() - cpu, self.wall() - wall


def accelerator_of(value: object) -> str:
    """The device of the first tensor in `value` that is on an accelerator, "" without one."""
    parts = value if isinstance(value, tuple | list) else (value,)
    for part in parts:
        device = getattr(part, "device", None)
        if getattr(device, "type", "cpu") not in _NOT_ACCELERATORS:
            return str(device)
    return ""


def wait_for(device: str) -> Callable[[], None]:
    """A callable that returns when `device` has done its work; nothing to wait for on the CPU ("")."""
    if not device:
        return lambda: None
    import torch

    return lambda: torch.accelerator.synchronize(torch.device(device))


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """`torch.set_num_threads(threads)` inside; nothing where torch is not loaded."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
