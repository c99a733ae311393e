"""Saved-tensor slots, described without unpacking what a hook has packed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
import torch

from engine import recorded
from engine.graph.owners import Owner, Owners
from engine.graph.spec import Saved, TensorMetadata
from engine.graph.texts import NAMES

PYTHON_NUMBER: Owner = ("a Python number", "")
"""The 8 bytes of a number are kept, but PyTorch calls no hook for them: they count in no total."""


class SavedReader:
    """Reads the saved slots of one graph; lives no longer than the walk, so it keeps no tensor alive."""

    def __init__(self, owners: Owners) -> None:
        self.owners = owners
        self.dropped = 0
        self.hooks: dict[int, tuple[str, ...]] = {}
        self._seen: dict[int, tuple[torch.Tensor, Saved]] = {}

    def slots_of(self, node: Any, slots: tuple[recorded.Slot, ...], held: Any, incoming: Any) -> tuple[Saved, ...]:
        """Every saved slot of a node in the order of PyTorch's own listing; lists are flattened to `name[index]`.

        `held` are the raw slots, `incoming` the metadata of the node's gradients: an output it saved looks like one.
        """
        found = []
        for slot, raw in zip(slots, held, strict=True):
            if type(raw) is not tuple:
                found.append(self._slot(node, slot, raw, incoming))
                continue
            for index, entry in enumerate(raw):
                found.append(self._slot(node, slot.at(index), entry, incoming))
        return tuple(found)

    def _slot(self, node: Any, slot: recorded.Slot, raw: Any, incoming: tuple[TensorMetadata, ...]) -> Saved:
        hook = raw.unpack_hook
        if hook is not None:
            return self._hooked(slot.name, hook)
        tensor = raw.data
        if tensor is None:
            return _unreadable(slot.name, _why_empty(node, slot))
        seen = self._seen.get(id(tensor))
        if seen is None:
            saved = self._describe(node, slot, tensor, incoming)
            self._seen[id(tensor)] = (tensor, saved)
        else:
            saved = seen[1]
            if saved.name != slot.name:
                saved = Saved(slot.name, *msgspec.structs.astuple(saved)[1:])
        return saved if not saved.version_now else _with_version_saved(node, slot, saved)

    def _hooked(self, name: str, hook: Any) -> Saved:
        if recorded.is_checkpoint_hook(hook):
            self.dropped += 1
            return _unreadable(name, "dropped by non-reentrant checkpoint: recomputed in backward", dropped=True)
        return _unreadable(name, f"packed by {recorded.hook_name(hook)}")

    def _describe(self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, incoming: Any) -> Saved:
        shape, dtype, stride, device, size, held, storages, version, unavailable = recorded.describe(tensor)
        owner, kind = self.owners.of(storages) or self._maker(node, slot, tensor, version, shape, incoming)
        return Saved(
            slot.name,
            shape,
            NAMES[dtype],
            stride,
            NAMES[device],
            size,
            held,
            self.owners.count(storages, kind),
            owner,
            kind,
            version,
            version,
            False,
            unavailable,
        )

    def _maker(
        self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, version: int | None, shape: Any, incoming: Any
    ) -> Owner:
        """The operation that made an intermediate: another one, or the node itself when it saved its own output."""
        producer = recorded.producer(tensor) if version else tensor.grad_fn
        if producer is None:
            if shape == () and recorded.is_python_number(tensor):
                return PYTHON_NUMBER
            looks_like_output = any(shape == metadata.shape for metadata in incoming)
            if slot.is_output or (looks_like_output and _is_output_of(node, slot)):
                producer = node
        elif recorded.has_hooks(tensor) and producer in self.owners.ids:
            self.hooks[self.owners.ids[producer]] = recorded.tensor_hooks(tensor)
        return self.owners.made_by(producer)


def _with_version_saved(node: Any, slot: recorded.Slot, saved: Saved) -> Saved:
    """A tensor written in place at some time: PyTorch raises, and tells the saved version, if that was after saving."""
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        versions = recorded.versions_in(error)
        return msgspec.structs.replace(saved, version_saved=versions[1] if versions else None)
    return saved


def _is_output_of(node: Any, slot: recorded.Slot) -> bool:
    """Whether a slot holds the node's own output: only that unpacks to a tensor whose grad_fn is the node."""
    try:
        value = recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        return "which is output" in str(error)
    return isinstance(value, torch.Tensor) and recorded.producer(value) is node


def _why_empty(node: Any, slot: recorded.Slot) -> str:
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        return why_unreadable(error)
    return "empty: the operation had no such tensor"


def why_unreadable(error: RuntimeError) -> str:
    """PyTorch's reason, short where it is the usual one."""
    return "freed by backward" if recorded.is_freed(error) else str(error)


def unreadable_slots(slots: tuple[recorded.Slot, ...], error: RuntimeError) -> tuple[Saved, ...]:
    """The slots of a node none of which can be read."""
    return tuple([_unreadable(slot.name, why_unreadable(error)) for slot in slots])


def closed_slots(name: str) -> tuple[Saved, ...]:
    """The row for a node that saves tensors but has no reader in Python, as some foreach operations."""
    return (_unreadable("saved", f"PyTorch gives Python no reader for what {name} saved"),)


@lru_cache(maxsize=256)
def _unreadable(name: str, why: str, dropped: bool = False) -> Saved:
    return Saved(name, None, "", None, "", 0, 0, None, "", "", None, None, dropped, why)
