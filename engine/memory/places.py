"""Marks in a profile that say which module and which Python line an operation belongs to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from engine import recorded, recorded_memory
from engine.graph.recording import Place, Recording, record_forward, user_frame
from engine.memory.events import PLACE

_ENGINES = (torch.autograd.backward, torch.autograd.grad, torch.Tensor.backward)
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MODELS = os.path.join(_OURS, "models") + os.sep
"""Of this package only the models are code that a reader of the trace calls theirs."""


class MarkPlaces(TorchFunctionMode):
    """Puts every operation called from Python under a mark with the number of its place in `places`."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self.recording = Recording()
        self.around_backward: Callable[[Any], Any] | None = None
        """Context to run a backward in that the caller starts himself; called with the tensors it starts from."""
        self._numbers: dict[Any, int] = {}
        self._inside = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _ENGINES and recorded.running_node() is None and self.around_backward is not None:
            with self.around_backward(args[0]):
                return func(*args, **(kwargs or {}))
        if func.__name__ in ("__get__", "__set__"):
            return func(*args, **(kwargs or {}))
        frame, first = _line_shown(sys._getframe(1)), recorded.next_sequence_nr()
        with recorded_memory.Mark(f"{PLACE}{self._number(frame)}"):
            try:
                return func(*args, **(kwargs or {}))
            finally:
                after = recorded.next_sequence_nr()
                if after > first and frame is not None:
                    self.recording.note_line(first, after, frame.f_code, frame.f_lineno)

    def _number(self, frame: FrameType | None) -> int:
        """Number of the place where `frame` stands now."""
        line = None if frame is None else (frame.f_code, frame.f_lineno)
        number = self._numbers.get((self.recording.module, line))
        if number is None:
            number = self._numbers[self.recording.module, line] = len(self.places)
            self.places.append((self.recording.module, self.recording.source_of(frame)))
        return number

    @contextmanager
    def modules_of(self, model: nn.Module) -> Iterator[None]:
        """Within, places know the module of `model` whose forward runs, also where backward runs it again."""
        with record_forward(model, sources=False) as self.recording:
            handles = [one.register_forward_pre_hook(self._enter) for one in _modules(model)]
            handles += [one.register_forward_hook(self._leave, always_call=True) for one in _modules(model)]
            try:
                yield
            finally:
                for handle in handles:
                    handle.remove()

    def _enter(self, *_: Any) -> None:
        """Backward runs without modes, so a forward that it runs again has to bring this one."""
        if recorded.running_node() is not None:
            if not self._inside:
                self.__enter__()  # type: ignore[no-untyped-call]
            self._inside += 1

    def _leave(self, *_: Any) -> None:
        if self._inside and recorded.running_node() is not None:
            self._inside -= 1
            if not self._inside:
                self.__exit__(None, None, None)  # type: ignore[no-untyped-call]


def _line_shown(frame: FrameType | None) -> FrameType | None:
    """The frame whose line stands for an operation: none where the training loop that is recorded is our own."""
    found = user_frame(frame)
    path = "" if found is None else found.f_code.co_filename
    return None if path.startswith(_OURS) and not path.startswith(_MODELS) else found


def _modules(model: nn.Module) -> list[nn.Module]:
    return [one for one in model.modules() if not isinstance(one, torch.jit.ScriptModule)]
