"""Births: a dispatch mode that finds where finite values become non-finite, forward and backward, below autograd."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from engine import recorded
from engine.diagnostics.elements import Running, describe_birth, describe_given
from engine.diagnostics.flow import Flow
from engine.diagnostics.results import Birth, Phase
from engine.graph.rows import Source

MOST_BIRTHS = 24
LARGEST_COPY = 1 << 20
"""Elements up to which an argument that is written in place is copied, to show what it held."""
_UNINITIALISED = ("aten.empty", "aten.new_empty", "aten._empty", "aten.resize_")


class Births(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Follows non-finite values by storage: an operation gives birth when it makes one of finite operands.

    NaN made of infinities (inf - inf) is a birth of its own. Checks cost one reduction per floating output.
    """

    def __init__(self, flow: Flow) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flow = flow
        self.births: list[Birth] = []
        self.more = 0
        self.operations = 0
        self.paused = False
        self._carriers: dict[Any, set[int]] = {}
        self._looked_at: set[Any] = set()
        """Storages that were followed from their start: what they hold is known before an operation writes in them."""
        self._kept: list[Any] = []
        """Storages of carriers stay alive, so that none gets the address of another."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.paused:
            return func(*args, **(kwargs or {}))
        self.operations += 1
        given = list(tensors_in((args, kwargs)))
        bad = [one for one in given if self.carried_by(one) and not is_finite(one)]
        strange = str(func).startswith("aten.lift_fresh") or self._any_brings_its_own(given)
        before = _before_writing(func, args)
        out = func(*args, **(kwargs or {}))
        self._looked_at.update(map(_key, tensors_in(out)))
        if not str(func).startswith(_UNINITIALISED):
            known = {_key(one) for one in given} if before is None else set()
            for one in tensors_in(out):
                is_view = _key(one) in known and not str(func).startswith("aten.lift_fresh")
                if not is_view and not is_finite(one):
                    self._found(func, before or args, kwargs or {}, given, bad, one, strange)
        return out

    def carried_by(self, tensor: torch.Tensor) -> set[int]:
        """Numbers of the births whose non-finite values a tensor may hold."""
        return self._carriers.get(_key(tensor), set())

    def given(self, name: str, tensor: torch.Tensor) -> None:
        """A leaf, parameter or buffer; non-finite from the start it is a birth before the forward."""
        self._looked_at.add(_key(tensor))
        if is_finite(tensor) or self.carried_by(tensor):
            return
        self._mark(tensor, {self._add(describe_given(name, tensor))})

    def _any_brings_its_own(self, given: list[torch.Tensor]) -> bool:
        """Whether an operand is not finite that no operation was seen to make; asked once of each, before the call."""
        new = [one for one in given if _key(one) not in self._looked_at]
        self._looked_at.update(map(_key, new))
        return any(not self.carried_by(one) and not is_finite(one) for one in new)

    def _found(
        self, func: Any, args: Any, kwargs: Any, given: list[Any], bad: list[Any], out: torch.Tensor, strange: bool
    ) -> None:
        """`strange`: an operand held it already when the operation began, and no operation was seen to make it."""
        if bad and (any(map(_has_nan, bad)) or not _has_nan(out)):
            self._mark(out, set().union(*map(self.carried_by, bad)))
            return
        node = recorded.running_node()
        module, source = self._place(node)
        phase: Phase = "forward" if node is None else "backward"
        what = Running(phase, func, self.flow.called, node_name(node), module, source, strange)
        parents = set().union(*map(self.carried_by, bad))
        born = {self._add(describe_birth(what, args, kwargs, out))} | parents
        for one in (out, *(written for written in given if not self.carried_by(written) and not is_finite(written))):
            self._mark(one, born)

    def _place(self, node: Any) -> tuple[str, Source | None]:
        recording = self.flow.recording
        if node is None:
            return recording.module, self.flow.source
        return recording.place_of(recorded.read_sequence_nr(node))

    def _add(self, birth: Birth) -> int:
        if len(self.births) >= MOST_BIRTHS:
            self.more += 1
            return MOST_BIRTHS - 1
        self.births.append(birth)
        return len(self.births) - 1

    def _mark(self, tensor: torch.Tensor, births: set[int]) -> None:
        key = _key(tensor)
        if key not in self._carriers:
            self._kept.append(_storage(tensor))
        self._carriers[key] = self._carriers.get(key, set()) | births


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite; True for what cannot be.

    A finite sum has only finite terms, and is 30 times as fast as looking at each; one that is not may overflow.
    """
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_meta:
        return True
    try:
        stored = tensor if tensor.layout is torch.strided else recorded.parts(tensor)[0]
        return math.isfinite(abs(stored.sum().item())) or all(map(math.isfinite, extremes(stored)))
    except (RuntimeError, NotImplementedError, IndexError):
        return True


def extremes(stored: torch.Tensor) -> tuple[float, float]:
    """Smallest and largest element, of complex numbers over both parts; both nan where one is NaN."""
    real = torch.view_as_real(stored.detach()) if stored.is_complex() else stored.detach()
    low, high = torch.aminmax(real) if real.numel() else (torch.zeros(()), torch.zeros(()))
    return float(low), float(high)


def _has_nan(tensor: torch.Tensor) -> bool:
    return math.isnan(extremes(tensor if tensor.layout is torch.strided else recorded.parts(tensor)[0])[0])


def node_name(node: Any) -> str:
    """Name of an autograd node, "" outside of backward."""
    return "" if node is None else str(node.name())


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Every tensor in arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 4 and isinstance(value, tuple | list):
        for one in value:
            yield from tensors_in(one, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one, depth + 1)


def _storage(tensor: torch.Tensor) -> Any:
    try:
        return tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return tensor


def _key(tensor: torch.Tensor) -> Any:
    try:
        return recorded.storage_key(tensor.untyped_storage())
    except (RuntimeError, NotImplementedError):
        return -id(tensor)


def _before_writing(func: Any, args: Any) -> tuple[Any, ...] | None:
    """The arguments with a copy of the one that will be overwritten."""
    if not str(func).split(".")[1].endswith("_") or not args or not isinstance(args[0], torch.Tensor):
        return None
    if args[0].numel() > LARGEST_COPY or args[0].layout is not torch.strided:
        return None
    return (args[0].clone(), *args[1:])
