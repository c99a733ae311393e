"""Copies inside kernels: what PyTorch's profiler saw below an operation that strides in and out do not show."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.profiler import profile, record_function

from engine import recorded
from engine.memory_format.spec import CopyKind, KernelCopy, TensorFormat, dims_of

# Kineto reports every start and stop on stderr below this level.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")

LABEL = "atlas operation "
COPY = "aten::copy_"


SPREADS_A_BIAS = frozenset({"aten::addmm", "aten::baddbmm", "aten::addmv", "aten::addbmm"})


@dataclass(frozen=True)
class Found:
    """A copy as the profiler saw it; strides in elements."""

    shape: tuple[int, ...]
    source_stride: tuple[int, ...]
    target_stride: tuple[int, ...]
    source_dtype: torch.dtype
    target_dtype: torch.dtype

    @property
    def copied_bytes(self) -> int:
        return math.prod(self.shape) * self.target_dtype.itemsize

    @property
    def kind(self) -> CopyKind:
        spread = any(size > 1 and stride == 0 for size, stride in zip(self.shape, self.source_stride, strict=True))
        if not spread and dims_of(self.shape, self.source_stride) != dims_of(self.shape, self.target_stride):
            return "reorder"
        return "same order" if self.source_dtype == self.target_dtype else "cast"

    def of(self, inputs: Sequence[TensorFormat]) -> KernelCopy:
        """As an operation's own, with the input it read."""
        source, target = (str(d).removeprefix("torch.") for d in (self.source_dtype, self.target_dtype))
        read = ((t.shape, t.stride, t.dtype) == (self.shape, self.source_stride, source) for t in inputs)
        position = next((number for number, same in enumerate(read) if same), -1)
        return KernelCopy(self.kind, self.copied_bytes, source, target, position)


class KernelCopies:
    """Counts copies below each numbered operation; oneDNN's own reorders of blocked weights stay invisible to it."""

    def __init__(self) -> None:
        self.unavailable = ""
        self._profile: Any = None
        self._found: dict[int, list[Found]] = {}

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
            self._collect(recorded.read_event_trees(self._profile.kineto_results))

    def run(self, number: int, function: Callable[[], Any]) -> Any:
        """Call `function` as operation `number`."""
        if self._profile is None:
            return function()
        with record_function(f"{LABEL}{number}"):
            return function()

    def below(self, number: int) -> list[Found]:
        """Every copy below this operation, its own included, in the order they ran."""
        return self._found.get(number, [])

    def _collect(self, trees: Any) -> None:
        # A loop, since autograd's recursion may be deeper than Python's.
        waiting: list[tuple[Any, int | None]] = [(event, None) for event in reversed(trees)]
        while waiting:
            event, number = waiting.pop()
            if event.name.startswith(LABEL):
                number = int(event.name.removeprefix(LABEL))
            if event.name in SPREADS_A_BIAS:
                number = None
            if event.name == COPY and number is not None and (found := _read(event)):
                self._found.setdefault(number, []).append(found)
            waiting += [(child, number) for child in reversed(event.children)]


def _read(event: Any) -> Found | None:
    """The copy; None for one of another shape, which spreads a bias or a scalar: no value changes its place."""
    target, source = event.extra_fields.inputs[:2]
    shapes = [getattr(tensor, "sizes", None) for tensor in (target, source)]
    if shapes[0] is None or shapes[0] != shapes[1] or math.prod(shapes[0]) <= 1:
        return None
    strides = tuple(source.strides), tuple(target.strides)
    return Found(tuple(shapes[0]), *strides, source.dtype, target.dtype)
