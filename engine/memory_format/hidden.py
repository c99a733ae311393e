"""Copies inside kernels: what PyTorch's profiler saw below an operation that strides in and out do not show."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch.autograd.profiler import profile, record_function

LABEL = "atlas operation "
COPY = "aten::copy_"


class KernelCopies:
    """Counts copies below each numbered operation; oneDNN's own reorders of blocked weights stay invisible to it."""

    def __init__(self) -> None:
        self.unavailable = ""
        self._profile: Any = None
        self._found: dict[int, list[int]] = {}

    def __enter__(self) -> KernelCopies:
        try:
            self._profile = profile(record_shapes=True, use_kineto=False)
            self._profile.__enter__()
        except (RuntimeError, AssertionError) as error:
            self._profile, self.unavailable = None, str(error)
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
                shape = event.input_shapes[0] if event.input_shapes else []
                if number is not None and math.prod(shape):
                    self._found.setdefault(number, []).append(math.prod(shape))


def _operation_above(event: Any) -> int | None:
    while event is not None:
        if event.name.startswith(LABEL):
            return int(event.name.removeprefix(LABEL))
        event = event.cpu_parent
    return None
