"""Every operation as PyTorch's dispatcher runs it, with where it was called from and what it did to the order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from engine import recorded
from engine.graph.recording import Recording
from engine.graph.spec import Source
from engine.memory_format.hidden import Found, KernelCopies
from engine.memory_format.lineage import Lineage, key_of
from engine.memory_format.order import format_of
from engine.memory_format.spec import Event, Operation, Order, Phase, TensorFormat

Numbered = list[tuple[int, torch.Tensor]]


class Draft:
    """An operation whose event a later one may still settle; holds no tensor."""

    def __init__(self, name: str, phase: Phase, module: str, source: Source | None, node: str, variable: str) -> None:
        self.name, self.phase, self.module, self.source = name, phase, module, source
        self.node, self.variable = node, variable
        self.inputs: tuple[TensorFormat, ...] = ()
        self.outputs: tuple[TensorFormat, ...] = ()
        self.order: Order = ""
        self.event: Event = ""
        self.itemsize = 1

    def finish(self, number: int, copied_bytes: int, found: Sequence[Found]) -> Operation:
        """The operation with the bytes that were copied."""
        inside = tuple(copy.of(self.inputs) for copy in found)
        reorders = [copy.copied_bytes for copy in inside if copy.kind == "reorder"]
        return Operation(
            id=number,
            name=self.name,
            phase=self.phase,
            module=self.module,
            source=self.source,
            inputs=self.inputs,
            outputs=self.outputs,
            order=self.order,
            event=self.event,
            copied_bytes=copied_bytes,
            hidden_copies=len(reorders),
            hidden_bytes=sum(reorders),
            node=self.node,
            variable=self.variable,
            inside=inside,
        )


class DispatchRecorder(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Records every operation that runs inside it; `phase` is set from outside, `variables` names parameters."""

    def __init__(self, recording: Recording, copies: KernelCopies, variables: dict[int, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.drafts: list[Draft] = []
        self.lineage = Lineage()
        self.phase: Phase = "forward"
        self._recording, self._copies, self._variables = recording, copies, variables

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        number, name = len(self.drafts), func.name().partition(".")[0]
        draft = self._draft(name, sys._getframe(1))
        self.drafts.append(draft)
        inputs = [tensor for _, tensor in _tensors((*args, *(kwargs or {}).values()))]
        # In-place operations may change an input's strides: read them before.
        draft.inputs = tuple(self._describe(tensor) for tensor in inputs)
        result = self._copies.run(number, lambda: func(*args, **(kwargs or {})))
        self._note_outputs(number, draft, inputs, list(_tensors(result if isinstance(result, tuple) else (result,))))
        return result

    def _note_outputs(self, number: int, draft: Draft, inputs: list[torch.Tensor], outputs: Numbered) -> None:
        keys = [key_of(tensor) for tensor in inputs]
        for_parameter = draft.variable != "" or draft.name == "aten::convolution_backward"
        described, images = [], []
        for position, tensor in outputs:
            key = key_of(tensor)
            aliases = keys.index(key) if key in keys else -1
            is_gradient = for_parameter and (position > 0 or draft.variable != "")
            described.append(self._describe(tensor, aliases, is_gradient))
            if is_gradient:
                self.lineage.forget(tensor)
            else:
                images.append((tensor, aliases))
        draft.outputs = tuple(described)
        draft.itemsize = outputs[0][1].element_size() if outputs else 1
        verdict = self.lineage.judge(number, draft.name, inputs, images)
        draft.order = verdict.order
        marked = draft if verdict.blamed is None else self.drafts[verdict.blamed]
        if verdict.event:
            marked.event = verdict.event

    def _draft(self, name: str, frame: Any) -> Draft:
        node = recorded.running_node() if self.phase == "backward" else None
        if node is None or self._recording.module:
            phase: Phase = "recompute" if self.phase == "backward" and self._recording.module else self.phase
            source = None if self.phase == "backward" and not self._recording.module else self._source(frame)
            return Draft(name, phase, self._recording.module, source, "", "")
        variable = getattr(node, "variable", None)
        if variable is not None:
            path = self._variables.get(id(variable), "")
            return Draft(name, self.phase, path.rpartition(".")[0], None, node.name(), path or "a leaf")
        module, source = self._recording.place_of(recorded.read_sequence_nr(node))
        return Draft(name, self.phase, module, source, node.name(), "")

    def _source(self, frame: Any) -> Source | None:
        return self._recording.source_of(frame)

    def _describe(self, tensor: torch.Tensor, aliases: int = -1, is_gradient: bool = False) -> TensorFormat:
        if tensor.layout is not torch.strided:
            layout = str(tensor.layout).removeprefix("torch.")
            return TensorFormat(tuple(tensor.shape), (), 0, layout, "other", is_gradient, aliases)
        return TensorFormat(
            tuple(tensor.shape),
            tensor.stride(),
            int(tensor.storage_offset()),
            str(tensor.dtype).removeprefix("torch."),
            format_of(tensor),
            is_gradient or self.lineage.is_parameter(tensor),
            aliases,
        )


def _tensors(values: Sequence[Any]) -> Iterator[tuple[int, torch.Tensor]]:
    """(position, tensor) of the tensors among values and in lists among them."""
    for position, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            yield position, value
        elif isinstance(value, list | tuple):
            yield from ((position, inner) for inner in value if isinstance(inner, torch.Tensor))
