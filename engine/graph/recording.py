"""Which module and which Python line made each node: ranges of autograd sequence numbers noted during a forward."""

from __future__ import annotations

import linecache
import os
import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from engine import recorded
from engine.graph.rows import Source

_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep
_APPLY = os.path.join("torch", "autograd", "function.py")

Place = tuple[str, Source | None]
NOWHERE: Place = ("", None)
_NEVER = (2**64, "")

_latest: weakref.WeakKeyDictionary[nn.Module, Recording] = weakref.WeakKeyDictionary()


class Recording:
    """What one or more forwards of a model did, in sequence numbers; holds names and numbers, no tensor."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self._starts: list[int] = []
        self._paths: list[str] = []
        self._lines: list[tuple[int, int, CodeType, int]] = []
        self._sources: dict[tuple[CodeType, int], Source] = {}
        self._indexed = 0
        self._bounds: list[int] = []
        self._places: list[Place] = [NOWHERE]

    @property
    def module(self) -> str:
        """Path of the innermost module whose forward runs now; "" outside of modules."""
        return self._paths[-1] if self._paths else ""

    def place_of(self, sequence_nr: int) -> Place:
        """Module and line that made the node of this number."""
        bounds, places = self.index()
        return places[bisect_right(bounds, sequence_nr)]

    def source_of(self, frame: FrameType | None) -> Source | None:
        """The innermost line outside of PyTorch at or above `frame`."""
        found = user_frame(frame)
        if found is None:
            return None
        code, line = found.f_code, found.f_lineno
        return self._sources.get((code, line)) or self._source(code, line)

    def enter(self, path: str) -> None:
        """From the next sequence number on, nodes belong to `path`."""
        self._starts.append(recorded.next_sequence_nr())
        self._paths.append(path)

    def note_line(self, first: int, after: int, code: CodeType, line: int) -> None:
        """Nodes first..after-1 were made by this line."""
        self._lines.append((first, after, code, line))

    def index(self) -> tuple[list[int], list[Place]]:
        """Bounds and places: nodes up to bounds[i] - 1 belong to places[i], those after the last bound to the last.

        A place is (path of the innermost module whose forward made the node, the line that made it); ("", None)
        elsewhere. Between two noted bounds module and line stay the same.
        """
        if len(self._starts) + len(self._lines) != self._indexed:
            self._indexed = len(self._starts) + len(self._lines)
            self._bounds, self._places = [], [NOWHERE]
            for at, place in self._changes():
                if place != self._places[-1]:
                    self._bounds.append(at)
                    self._places.append(place)
        return self._bounds, self._places

    def _changes(self) -> Iterator[tuple[int, Place]]:
        """The place from every noted sequence number on, in order."""
        self._lines.sort(key=lambda noted: noted[0])
        starts: Iterator[Any] = iter([*zip(self._starts, self._paths, strict=True), _NEVER])
        lines: Iterator[Any] = iter([*self._lines, (*_NEVER, None, 0)])
        module, ends = "", _NEVER[0]
        source: Source | None = None
        start, line = next(starts), next(lines)
        while (at := min(start[0], line[0], ends)) < _NEVER[0]:
            if ends == at:
                source, ends = None, _NEVER[0]
            while start[0] == at:
                module, start = start[1], next(starts)
            while line[0] == at:
                (_, ends, code, number), line = line, next(lines)
                source = self._sources.get((code, number)) or self._source(code, number)
            yield at, (module, source)

    def _source(self, code: CodeType, line: int) -> Source:
        text = linecache.getline(code.co_filename, line).strip()
        source = self._sources[code, line] = Source(os.path.basename(code.co_filename), line, code.co_name, text)
        return source


@contextmanager
def record_forward(model: nn.Module, sources: bool = True) -> Iterator[Recording]:
    """Note which module call and which Python line make each autograd node inside the block.

    `trace_graph(outputs, model=model)` picks the latest recording of `model` up by itself. `sources=False` leaves the
    lines out (a few microseconds per operation). Errors of the forward pass through; hooks are always removed.
    """
    recording = Recording()
    handles = _hook_modules(model, recording)
    _latest[model] = recording
    try:
        if sources:
            with _NoteLines(recording):
                yield recording
        else:
            yield recording
    finally:
        recording.enter("")
        for handle in handles:
            handle.remove()


def latest_recording(model: nn.Module | None) -> Recording | None:
    """The recording `record_forward` last made of this model."""
    return None if model is None else _latest.get(model)


def _hook_modules(model: nn.Module, recording: Recording) -> list[Any]:
    stack: list[str] = [""]

    def before(path: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            stack.append(path)
            recording.calls[path] = recording.calls.get(path, 0) + 1
            recording.enter(path)

        return hook

    def after(*_: Any) -> None:
        stack.pop()
        recording.enter(stack[-1])

    handles = []
    compiled = hasattr(model, "_orig_mod")
    for path, module in [("", model)] if compiled else model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue
        handles.append(module.register_forward_pre_hook(before(path)))
        handles.append(module.register_forward_hook(after, always_call=True))
    return handles


class _NoteLines(TorchFunctionMode):
    """Notes the calling line of every operation that makes nodes."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording
        self.reached = recorded.next_sequence_nr()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        first = recorded.next_sequence_nr()
        if first > self.reached:
            self._note(self.reached, first, inside_apply=True)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            after = recorded.next_sequence_nr()
            if after > first:
                self._note(first, after, inside_apply=False)
            self.reached = after

    def _note(self, first: int, after: int, inside_apply: bool) -> None:
        """Numbers used between two operations belong to a custom Function whose forward is running."""
        frame = _applied_from(sys._getframe(2)) if inside_apply else sys._getframe(2)
        found = user_frame(frame)
        if found is not None:
            self.recording.note_line(first, after, found.f_code, found.f_lineno)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame at or above `frame` that runs neither PyTorch's code nor this package's."""
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH, _HERE)):
        frame = frame.f_back
    return frame


def _applied_from(frame: FrameType | None) -> FrameType | None:
    while frame is not None and not (frame.f_code.co_name == "apply" and frame.f_code.co_filename.endswith(_APPLY)):
        frame = frame.f_back
    return frame
