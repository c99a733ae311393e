"""Every operation that reaches a kernel during one run, with the dispatcher calls it came through.

A dispatch mode below autocast sees tensors; PyTorch's profiler sees which operator called which, above autocast too.
The mode marks every operation by name inside the profile, so both are about the same operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.profiler import profile, record_function

from engine import recorded
from engine.graph.recording import Recording
from engine.mixed_precision.results import Phase
from engine.recorded_mixed_precision import cast_operators, event_dtypes
from engine.runner.faults import check_operations

MARK = "recorded operation "


@dataclass(eq=False)
class Event:
    """A dispatcher call that the profiler saw: what it was called with; one object per call, compared by identity."""

    name: str
    dtypes: tuple[str, ...]
    children: list[Event] = field(default_factory=list)


@dataclass
class Seen:
    """One operation as the mode saw it; storages by identity, which the recorder keeps alive."""

    number: int
    phase: Phase
    name: str
    module: str
    node: str
    node_number: int | None
    next_number: int
    inputs: tuple[str, ...]
    input_storages: tuple[int, ...]
    is_view: bool
    is_cast: bool
    outputs: tuple[str, ...] = ()
    output_storages: tuple[int, ...] = ()
    output_sizes: tuple[int, ...] = ()
    """Bytes of each of `output_storages`."""
    output_bytes: int = 0
    shape: tuple[int, ...] = ()
    path: tuple[Event, ...] = ()
    """Dispatcher calls from what Python called down to this operation."""


MOST_OPERATIONS = 40_000
"""Of forward, loss and backward together; twice as many take half a minute."""


class Recorder(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operation; `phase` is set from outside, `recording` knows the module that runs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.phase: Phase = "forward"
        self.recording = Recording()
        self.seen: list[Seen] = []
        self._storages: dict[int, Any] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = list(tensors_in((args, tuple(kwargs.values()))))
        one = self._note(func, tensors)
        with record_function(f"{MARK}{one.number}"):
            outputs = func(*args, **kwargs)
        given = list(tensors_in((outputs,)))
        one.outputs = tuple(map(dtype_of, given))
        # `Tensor.to` is a view by its schema, but not where it has to convert.
        one.is_view = one.is_view and not (one.is_cast and one.inputs[:1] != one.outputs)
        one.output_storages = self._keep(given)
        one.output_sizes = tuple(size for tensor in given for _, size in recorded.storages_of(tensor))
        one.output_bytes = sum(t.numel() * t.element_size() for t in given) if not one.is_view else 0
        one.shape = tuple(map(int, given[0].shape)) if given and not given[0].is_nested else ()
        return outputs

    def _note(self, func: Any, tensors: list[torch.Tensor]) -> Seen:
        check_operations(len(self.seen), MOST_OPERATIONS)
        node = recorded.running_node()
        number = recorded.read_sequence_nr(node) if node is not None else None
        one = Seen(
            number=len(self.seen),
            phase=self.phase,
            name=func.name(),
            module=self.recording.module if node is None else "",
            node=node.name() if node is not None else "",
            node_number=number,
            next_number=recorded.next_sequence_nr(),
            inputs=tuple(map(dtype_of, tensors)),
            input_storages=self._keep(tensors),
            is_view=func.is_view,
            is_cast=func in cast_operators,
        )
        self.seen.append(one)
        return one

    def _keep(self, tensors: list[torch.Tensor]) -> tuple[int, ...]:
        """Identities of the storages, which stay valid: a storage that was freed would lend its number to another."""
        keys = []
        for tensor in tensors:
            for key, _ in recorded.storages_of(tensor):
                keys.append(key)
                if key not in self._storages:
                    self._storages[key] = _storage_or_none(tensor)
        return tuple(keys)

    def forget_storages(self) -> None:
        """Let go of the memory; identities are numbers from then on."""
        self._storages.clear()


def _storage_or_none(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage() if tensor.layout is torch.strided and not tensor.is_nested else tensor


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of nested tuples and lists, as operators take and return them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from tensors_in(one)


def dtype_of(tensor: torch.Tensor) -> str:
    """As in "bfloat16"."""
    return str(tensor.dtype).removeprefix("torch.")


@contextmanager
def record_operations() -> Iterator[Recorder]:
    """Record every operation of the block; afterwards each has its `path`. Errors of the block pass through."""
    recorder = Recorder()
    # Not torch.profiler.profile: that asks for torch._inductor when it starts, seconds of imports.
    with profile(record_shapes=True) as profiled, recorder:
        yield recorder
    _add_paths(recorder.seen, recorded.read_event_trees(profiled.kineto_results))


def _add_paths(seen: list[Seen], trees: list[Any]) -> None:
    """Walk the profile without recursion; below a mark the operation's own kernels begin, which nobody asked for."""
    waiting: list[tuple[Any, tuple[Event, ...]]] = [(tree, ()) for tree in reversed(trees)]
    while waiting:
        event, path = waiting.pop()
        if event.name.startswith(MARK):
            seen[int(event.name.removeprefix(MARK))].path = path
            continue
        if _is_operator(event.name):
            own = Event(event.name, event_dtypes(event))
            if path:
                path[-1].children.append(own)
            path = (*path, own)
        waiting += [(child, path) for child in reversed(event.children)]


def _is_operator(name: str) -> bool:
    return "::" in name and not name.startswith(("autograd::", "torch::autograd::"))
