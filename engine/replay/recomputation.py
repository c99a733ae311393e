"""Forwards that run again inside backward: checkpoints, and the graphs that reentrant ones make and run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
import torch.utils.checkpoint
from torch import nn
from torch.overrides import TorchFunctionMode

from engine import recorded
from engine.graph.recording import Recording
from engine.replay.inner_nodes import InnerNodes
from engine.replay.recorder import Recorder, Running

_CHECKPOINT = torch.utils.checkpoint.__file__
_RECOMPUTING = ("backward", "recompute_fn")
"""Functions of that file which run a forward again: reentrant, and not."""
_ENGINES = (torch.autograd.backward, torch.autograd.grad, torch.Tensor.backward)


@contextmanager
def recomputation_recorded(
    recorder: Recorder, inner: InnerNodes, model: nn.Module | None, create_graph: bool
) -> Iterator[None]:
    """Within, every stretch of forward that a step of backward runs again becomes a step of its own."""
    seen = recorder.mode = _Recomputation(recorder, inner, create_graph)
    handles = [] if model is None else _hook_modules(model, seen)
    try:
        yield
    finally:
        seen.close()
        recorder.mode = None
        for handle in handles:
            handle.remove()


class _Recomputation(TorchFunctionMode):
    def __init__(self, recorder: Recorder, inner: InnerNodes, create_graph: bool) -> None:
        super().__init__()
        self._recorder = recorder
        self._inner = inner
        self._create_graph = create_graph
        self._places = Recording()
        self._modules: list[str] = []
        self._open: Running | None = None
        self._asked_by: Running | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _ENGINES:
            self.close()
            self._inner.watch_behind(args[0], self._places)
        if func.__name__ in ("__get__", "__set__") or not torch.is_grad_enabled():
            return func(*args, **(kwargs or {}))
        return self._operation(func, args, kwargs or {})

    def _operation(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Only what records a node counts, and outside of modules opens a stretch; a stop on the way is raised."""
        first, begun_s = recorded.next_sequence_nr(), self._recorder.clock_s()
        try:
            return func(*args, **kwargs)
        finally:
            if recorded.next_sequence_nr() > first and self._opened("", "function", begun_s):
                self._count()

    def entered(self, path: str, name: str) -> None:
        """A module's forward begins; the outermost one opens a stretch of its own."""
        if self._recorder.running is not None and torch.is_grad_enabled():
            if not self._modules:
                self.close()
            self._opened(path, name, self._recorder.clock_s())
        self._go_to([*self._modules, path])

    def left(self) -> None:
        """A module's forward ends, or was stopped."""
        self._go_to(self._modules[:-1])
        if not self._modules:
            self.close()

    def close(self) -> None:
        """The stretch that is open ends here."""
        if self._open is not None:
            self._open.duration_s = self._recorder.clock_s() - self._open.begun_s
            self._open = None

    def _count(self) -> None:
        if self._open is not None:
            self._open.operations += 1

    def _go_to(self, modules: list[str]) -> None:
        self._modules = modules
        self._places.enter(modules[-1] if modules else "")

    def _is_open(self) -> bool:
        return self._open is not None and self._asked_by is self._recorder.running

    def _opened(self, path: str, name: str, begun_s: float) -> bool:
        """Whether a stretch is open, after opening one where what runs now is a recomputation."""
        if self._is_open():
            return True
        self.close()
        if self._recorder.is_full or (self._create_graph and not _is_a_checkpoint()):
            return False
        self._asked_by = self._recorder.running
        self._open = self._recorder.begin("recompute", name, path, begun_s)
        return True


def _is_a_checkpoint() -> bool:
    """Whether torch.utils.checkpoint is running a forward again."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == _CHECKPOINT and frame.f_code.co_name in _RECOMPUTING:
            return True
        frame = frame.f_back
    return False


def _hook_modules(model: nn.Module, seen: _Recomputation) -> list[Any]:
    def enter(path: str, name: str) -> Callable[..., None]:
        return lambda *_: seen.entered(path, name)

    handles = []
    for path, module in model.named_modules():
        if not isinstance(module, torch.jit.ScriptModule):
            handles.append(module.register_forward_pre_hook(enter(path, type(module).__name__)))
            handles.append(module.register_forward_hook(lambda *_: seen.left(), always_call=True))
    return handles
