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
from engine.graph.wording import hook_name, is_checkpoint_hook, is_freed, versions_in
from engine.runner.faults import error_text
from engine.shapes import plain_shape

_UNREADABLE = (RuntimeError, NotImplementedError, TypeError)

PYTHON_NUMBER: Owner = ("a Python number", "")
"""The 8 bytes of a number are kept, but PyTorch calls no hook for them: they count in no total."""


class SavedReader:
    """Reads the saved slots of one graph; lives no longer than the walk, so it keeps no tensor alive."""

    def __init__(self, owners: Owners) -> None:
        self.owners = owners
        self.dropped = 0
        self.hooks: dict[int, tuple[str, ...]] = {}
        self._dtype: torch.dtype | None = None
        self._device: torch.device | None = None
        self._layouts: dict[Any, tuple[Any, ...]] = {}
        self._tables: dict[Any, dict[Any, tuple[Any, ...]]] = {}

    def slots_of(
        self, node: Any, layout: recorded.NodeLayout, received: tuple[TensorMetadata, ...]
    ) -> tuple[Saved, ...]:
        """Every saved slot of a node in the order of PyTorch's own listing; lists are flattened to `name[index]`.

        `received` is the metadata of the node's gradients: an output it saved looks like one.
        """
        slots = layout.slots
        try:
            held = layout.read_slots(node)
            if len(slots) > 1:
                return tuple(self._several(node, slots, held, received))
            if type(held) is tuple:
                slots = tuple(map(slots[0].at, range(len(held))))
                return tuple(self._several(node, slots, held, received))
            return (self._one(node, slots[0], held, received),)
        except RuntimeError as error:
            return unreadable_slots(slots, error)

    def _several(
        self, node: Any, slots: tuple[recorded.Slot, ...], held: Any, received: tuple[TensorMetadata, ...]
    ) -> list[Saved]:
        found: list[Saved] = []
        for slot, raw in zip(slots, held):  # noqa: B905 (as long as each other, and this loop is hot)
            if type(raw) is tuple:
                found += self._several(node, tuple(map(slot.at, range(len(raw)))), raw, received)
            else:
                found.append(self._one(node, slot, raw, received))
        return found

    def _hooked(self, name: str, hook: Any) -> Saved:
        if is_checkpoint_hook(hook):
            self.dropped += 1
            return _unreadable(name, "dropped by non-reentrant checkpoint: recomputed in backward", dropped=True)
        return _unreadable(name, f"packed by {hook_name(hook)}")

    def _one(self, node: Any, slot: recorded.Slot, raw: Any, received: tuple[TensorMetadata, ...]) -> Saved:
        hook, tensor = recorded.read_raw(raw)
        if hook is not None:
            return self._hooked(slot.name, hook)
        if tensor is None:
            return _empty(node, slot)
        try:
            shape, dtype, device, version, hooks = recorded.read_tensor(tensor)
            if dtype is not self._dtype or device != self._device:
                self._switch(dtype, device)
            layout, storage = (shape, tensor.stride()), tensor.untyped_storage()
            shape, dtype_name, stride, device_name, size = self._layouts.get(layout) or self._learn(layout, tensor)
        except _UNREADABLE as error:
            saved = self._describe_unusual(node, slot, tensor, error_text(error))
            return _with_version_saved(node, slot, saved) if saved.version_now else saved
        key, owners = recorded.storage_key(storage), self.owners
        owner = owners.by_storage.get(key)
        if owner is None:
            maker = None if version or hooks else tensor.grad_fn
            if maker is None and slot.is_output and not version:
                maker = node
            if maker is None:
                owner = self._maker(node, slot, tensor, version, shape, received)
            else:
                owner = owners.makers.get(maker) or owners.made_by(maker)
        name, kind = owner
        counted = owners.storages.get(key)
        if counted is None:
            counted = owners.count_storage(key, storage.nbytes(), kind)
        held, number = counted
        facts = shape, dtype_name, stride, device_name, size, held, number, name, kind, version, version, False
        saved = Saved(slot.name, *facts)
        return _with_version_saved(node, slot, saved) if version else saved

    def _switch(self, dtype: torch.dtype, device: torch.device) -> None:
        """Layouts are kept by dtype and device, which seldom change from one tensor to the next."""
        self._dtype, self._device = dtype, device
        self._layouts = self._tables.setdefault((dtype, device), {})

    def _learn(self, layout: tuple[Any, ...], tensor: torch.Tensor) -> tuple[Any, ...]:
        """Plain shape, dtype, stride, device and bytes, shared by all tensors laid out alike."""
        shape, stride = plain_shape(layout[0]), plain_shape(layout[1])
        if shape is None or stride is None:
            raise TypeError("symbolic sizes")
        learned = self._layouts[layout] = shape, NAMES[tensor.dtype], stride, NAMES[tensor.device], tensor.nbytes
        return learned

    def _describe_unusual(self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, error: str) -> Saved:
        shape, dtype, stride, device, size, held, storages, version, why = recorded.describe(tensor, error)
        owner, kind = self.owners.of(storages) or self._maker(node, slot, tensor, version, shape, ())
        number = self.owners.count(storages, kind)
        names = NAMES[dtype], NAMES[device]
        return Saved(
            slot.name, shape, names[0], stride, names[1], size, held, number, owner, kind, version, version, False, why
        )

    def _maker(
        self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, version: int | None, shape: Any, received: Any
    ) -> Owner:
        """The operation that made an intermediate: another one, or the node itself when it saved its own output."""
        producer = recorded.producer(tensor) if version else tensor.grad_fn
        if producer is not None:
            hooks = recorded.tensor_hooks(tensor)
            if hooks and producer in self.owners.ids:
                self.hooks[self.owners.ids[producer]] = hooks
            return self.owners.made_by(producer)
        if slot.is_output:
            return self.owners.made_by(node)
        if shape == () and recorded.is_python_number(tensor):
            return PYTHON_NUMBER
        looks_like_output = any(shape == metadata.shape for metadata in received)
        return self.owners.made_by(node if looks_like_output and _is_output_of(node, slot) else None)


def _with_version_saved(node: Any, slot: recorded.Slot, saved: Saved) -> Saved:
    """A tensor written in place at some time: PyTorch raises, and tells the saved version, if that was after saving."""
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        versions = versions_in(error)
        return msgspec.structs.replace(saved, version_saved=versions[1] if versions else None)
    return saved


def _is_output_of(node: Any, slot: recorded.Slot) -> bool:
    """Whether a slot holds the node's own output: only that unpacks to a tensor whose grad_fn is the node."""
    try:
        value = recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        return "which is output" in str(error)
    return isinstance(value, torch.Tensor) and recorded.producer(value) is node


def _empty(node: Any, slot: recorded.Slot) -> Saved:
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        return _unreadable(slot.name, why_unreadable(error))
    return _unreadable(slot.name, "empty: the operation had no such tensor")


def why_unreadable(error: RuntimeError) -> str:
    """PyTorch's reason, short where it is the usual one."""
    return "freed by backward" if is_freed(error) else error_text(error)


def unreadable_slots(slots: tuple[recorded.Slot, ...], error: RuntimeError) -> tuple[Saved, ...]:
    """The slots of a node none of which can be read."""
    return tuple([_unreadable(slot.name, why_unreadable(error)) for slot in slots])


def closed_slots(node: Any) -> tuple[Saved, ...]:
    """The row for a node that saves tensors but has no reader in Python, as some foreach operations."""
    if not recorded.is_closed(node):
        return ()
    return (_unreadable("saved", f"PyTorch gives Python no reader for what {node.name()} saved"),)


@lru_cache(maxsize=256)
def _unreadable(name: str, why: str, dropped: bool = False) -> Saved:
    return Saved(name, None, "", None, "", 0, 0, None, "", "", None, None, dropped, why)
