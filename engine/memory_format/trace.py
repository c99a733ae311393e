"""Trace one forward and backward of any module: formats operation by operation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import nn

from engine import recorded
from engine.graph.recording import record_forward
from engine.graph.spec import PyTorchError
from engine.memory_format.dispatch import DispatchRecorder, Draft
from engine.memory_format.hidden import KernelCopies
from engine.memory_format.lineage import COPYING
from engine.memory_format.parameters import parameter_formats
from engine.memory_format.spec import FormatTrace, Operation, Phase
from engine.runner.faults import error_text, is_memory_error

Stage = Literal["forward", "loss", "backward"]
IN_PLACE = "_"


class FormatRun:
    """One traced run; an error PyTorch raises is kept as the lesson, not raised."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, torch.Tensor]) -> None:
        self.model = model
        self.parameters, buffers = recorded.named_members(model)
        self.error: PyTorchError | None = None
        self.warnings: tuple[str, ...] = ()
        self.operations: tuple[Operation, ...] = ()
        self._copies = KernelCopies()
        self._inputs = dict(inputs)
        self._buffers = buffers

    def run(self, forward: Callable[[], Any], loss: Callable[[Any], torch.Tensor] | None) -> FormatTrace:
        """Trace `forward()`, and with `loss` also `loss(outputs).backward()`."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with self._copies, record_forward(self.model) as recording:
                recorder = DispatchRecorder(recording, self._copies, {id(p): n for n, p in self.parameters.items()})
                self._learn(recorder)
                with recorder:
                    self._steps(recorder, forward, loss)
            self.warnings = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
        self.operations = tuple(_finished(recorder, self._copies))
        return self._trace()

    def _learn(self, recorder: DispatchRecorder) -> None:
        for tensor in [*self.parameters.values(), *self._buffers.values()]:
            recorder.lineage.learn_parameter(tensor)
        for tensor in self._inputs.values():
            recorder.lineage.learn_input(tensor)

    def _steps(
        self, recorder: DispatchRecorder, forward: Callable[[], Any], loss: Callable[[Any], torch.Tensor] | None
    ) -> None:
        outputs = self._stage(recorder, "forward", forward)
        if loss is None or self.error is not None:
            return
        scalar = self._stage(recorder, "loss", lambda: loss(outputs))
        if scalar is not None:
            self._stage(recorder, "backward", scalar.backward)

    def _stage(self, recorder: DispatchRecorder, stage: Stage, step: Callable[[], Any]) -> Any:
        recorder.phase = stage
        try:
            return step()
        except Exception as error:
            if is_memory_error(error):
                raise
            self.error = PyTorchError(stage=stage, type=type(error).__name__, message=error_text(error))
            return None

    def _trace(self) -> FormatTrace:
        operations = self.operations
        images = [op for op in operations if op.order and writes_memory(op)]
        return FormatTrace(
            operations=operations,
            parameters=parameter_formats(self.parameters),
            image_operations=len(images),
            channels_last_operations=sum(op.order == "channels_last" for op in images),
            lost_at=_first_loss(operations, ("forward",)),
            lost_in_backward=_first_loss(operations, ("backward", "recompute")),
            copies=sum(op.copied_bytes > 0 for op in operations),
            copied_bytes=sum(op.copied_bytes for op in operations),
            hidden_copies=sum(op.hidden_copies for op in operations),
            hidden_bytes=sum(op.hidden_bytes for op in operations),
            hidden_unavailable=self._copies.unavailable,
            error=self.error,
            warnings=self.warnings,
        )


def writes_memory(operation: Operation) -> bool:
    """Whether it makes new memory or writes in place; views do neither."""
    return operation.name.endswith(IN_PLACE) or any(tensor.aliases < 0 for tensor in operation.outputs)


def _finished(recorder: DispatchRecorder, copies: KernelCopies) -> list[Operation]:
    finished = []
    for number, draft in enumerate(recorder.drafts):
        found = copies.below(number)
        if not _is_copy(draft):
            finished.append(draft.finish(number, 0, found))
            continue
        written = torch.Size(draft.outputs[0].shape).numel() * draft.itemsize if draft.outputs else 0
        finished.append(draft.finish(number, found[0].copied_bytes if found else written, found[1:]))
    return finished


def _is_copy(draft: Draft) -> bool:
    """Whether its whole work was a copy: `reshape` and `contiguous` copy only where they return new memory."""
    returns_view = bool(draft.outputs) and draft.outputs[0].aliases >= 0
    return draft.name in COPYING and (draft.name == "aten::copy_" or not returns_view)


def _first_loss(operations: tuple[Operation, ...], phases: tuple[Phase, ...]) -> int | None:
    return next((op.id for op in operations if op.event == "loses" and op.phase in phases), None)
