"""Forwards that run again inside backward: checkpoints, and the graphs that reentrant ones make and run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils.checkpoint
from torch import nn
from torch.overrides import TorchFunctionMode

from engine.replay.inner_nodes import InnerNodes
from engine.replay.recorder import Recorder, Running

_CHECKPOINT = torch.utils.checkpoint.__file__
_REENTRANT = "backward"
"""`CheckpointFunction.backward` runs the forward again and then an engine on what it made; the other way does not."""
_RECOMPUTING = (_REENTRANT, "recompute_fn", "unpack_hook")


@contextmanager
def recomputation_recorded(
    recorder: Recorder, inner: InnerNodes, model: nn.Module | None, create_graph: bool
) -> Iterator[None]:
    """Within, every stretch of forward that a step of backward runs again becomes a step of its own."""
    seen = _Recomputation(recorder, inner, create_graph)
    handles = [] if model is None else _hook_modules(model, seen)
    try:
        with seen:
            yield
    finally:
        seen.close()
        for handle in handles:
            handle.remove()


class _Recomputation(TorchFunctionMode):
    def __init__(self, recorder: Recorder, inner: InnerNodes, create_graph: bool) -> None:
        super().__init__()
        self._recorder = recorder
        self._inner = inner
        self._create_graph = create_graph
        self._modules: list[str] = []
        self._open: Running | None = None
        self._asked_by: Running | None = None
        self._is_reentrant = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked_by = self._recorder.running
        is_operation = asked_by is not None and torch.is_grad_enabled() and func.__name__ not in ("__get__", "__set__")
        if is_operation and self._is_open("", "function") and self._open is not None:
            self._open.operations += 1
        made = func(*args, **(kwargs or {}))
        if is_operation and self._open is not None and self._is_reentrant:
            self._inner.watch_behind(made, self._modules[-1] if self._modules else "")
        return made

    def entered(self, path: str, name: str) -> None:
        """A module's forward begins; the outermost one opens a stretch of its own."""
        if self._recorder.running is not None and torch.is_grad_enabled():
            if not self._modules:
                self.close()
            self._is_open(path, name)
        self._modules.append(path)

    def left(self) -> None:
        self._modules.pop()
        if not self._modules:
            self.close()

    def close(self) -> None:
        """The stretch that is open ends here."""
        if self._open is not None:
            self._open.duration_s = self._recorder.clock_s() - self._open.begun_s
            self._open = None

    def _is_open(self, path: str, name: str) -> bool:
        """Whether a stretch runs, after opening one where what runs now is a recomputation."""
        asked_by = self._recorder.running
        if self._open is not None and self._asked_by is asked_by:
            return True
        self.close()
        frame = _checkpoint_frame()
        if self._recorder.is_full or (not frame and self._create_graph):
            return False
        self._asked_by, self._is_reentrant = asked_by, frame in ("", _REENTRANT)
        self._open = self._recorder.begin("recompute", name, path)
        return True


def _checkpoint_frame() -> str:
    """Which of torch.utils.checkpoint's ways to recompute is running; "" when none is."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == _CHECKPOINT and frame.f_code.co_name in _RECOMPUTING:
            return frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _hook_modules(model: nn.Module, seen: _Recomputation) -> list[Any]:
    def enter(path: str, name: str) -> Callable[..., None]:
        return lambda *_: seen.entered(path, name)

    handles = []
    for path, module in model.named_modules():
        if not isinstance(module, torch.jit.ScriptModule):
            handles.append(module.register_forward_pre_hook(enter(path, type(module).__name__)))
            handles.append(module.register_forward_hook(lambda *_: seen.left(), always_call=True))
    return handles
