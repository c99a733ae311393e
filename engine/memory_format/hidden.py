"""Copies inside kernels: what PyTorch's profiler saw below an operation that strides in and out do not show."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from torch.autograd.profiler import profile, record_function

from engine import recorded

# Kineto reports every start and stop on stderr below this level.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")

LABEL = "atlas operation "
COPY = "aten::copy_"


class KernelCopies:
    """Counts copies below each numbered operation; oneDNN's own reorders of blocked weights stay invisible to it."""

    def __init__(self) -> None:
        self.unavailable = ""
        self._profile: Any = None
        self._found: dict[int, list[int]] = {}

    def __enter__(self) -> KernelCopies:
        if recorded.profiler_runs():
            self.unavailable = "another profiler is running, and PyTorch has one at a time"
            return self
        self._profile = profile(record_shapes=True, use_kineto=False)
        self._profile.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._profile is not None:
            self._profile.__exit__(*error)
            self._count(self._profile.function_events)

    def run(self, number: int, function: Callable[[], Any]) -> Any:
        """Call `function` as operation `number`."""
        if self._profile is None:
            return function()
        with record_function(f"{LABEL}{number}"):
            return function()

    def elements(self, number: int) -> list[int]:
        """Elements written by each copy below this operation, its own included."""
        return self._found.get(number, [])

    def _count(self, events: Any) -> None:
        for event in events:
            if event.name == COPY:
                number = _operation_above(event)
                target, source = (event.input_shapes or [[], []])[:2]
                # Of another shape, it spreads a bias or a scalar: no value changes its place.
                if number is not None and target == source and math.prod(target) > 1:
                    self._found.setdefault(number, []).append(math.prod(target))


SPREADS_A_BIAS = frozenset({"aten::addmm", "aten::baddbmm", "aten::addmv", "aten::addbmm"})


def _operation_above(event: Any) -> int | None:
    while event is not None:
        if event.name in SPREADS_A_BIAS:
            return None
        if event.name.startswith(LABEL):
            return int(event.name.removeprefix(LABEL))
        event = event.cpu_parent
    return None
