"""Saved-tensor slots, described without unpacking what a hook has packed."""

from __future__ import annotations

from typing import Any

import torch

from engine import recorded
from engine.graph.columns import Layout
from engine.graph.owners import Maker, Owners
from engine.graph.rows import OwnerKind, TensorMetadata
from engine.graph.slot_writer import SlotWriter
from engine.graph.texts import NAMES
from engine.graph.wording import hook_name, is_checkpoint_hook, is_freed, versions_in
from engine.runner.faults import error_text
from engine.shapes import plain_shape

_UNREADABLE = (RuntimeError, NotImplementedError, TypeError)

Shape = tuple[int, ...]
Received = tuple[TensorMetadata, ...]

PYTHON_NUMBER: Maker = ("a Python number", "")
"""The 8 bytes of a number are kept, but PyTorch calls no hook for them: they count in no total."""


class SavedReader:
    """Reads the saved slots of one graph into columns; lives no longer than the walk, so it keeps no tensor alive."""

    def __init__(self, owners: Owners) -> None:
        self.owners = owners
        self.dropped = 0
        self.hooks: dict[int, tuple[str, ...]] = {}
        self._dtype: torch.dtype | None = None
        self._device: torch.device | None = None
        self._layouts: dict[Any, tuple[int, Shape]] = {}
        self._tables: dict[Any, dict[Any, tuple[int, Shape]]] = {}
        self.written = SlotWriter()

    def read(self, node: Any, layout: recorded.NodeLayout, received: Received) -> int:
        """Read every saved slot of a node in the order of PyTorch's own listing; how many there are.

        Lists are flattened to `name[index]`. `received` is the metadata of the node's gradients: an output it saved
        looks like one.
        """
        slots, before = layout.slots, self.written.count
        if not slots:
            self._read_closed(node)
            return self.written.count - before
        try:
            held = layout.read_slots(node)
            if len(slots) > 1:
                self._several(node, slots, held, received)
            elif type(held) is tuple:
                self._several(node, tuple(map(slots[0].at, range(len(held)))), held, received)
            else:
                self._one(node, slots[0], held, received)
        except RuntimeError as error:
            self.written.cut(before)
            for slot in slots:
                self.written.add_unreadable(slot.name, why_unreadable(error))
        return self.written.count - before

    def _several(self, node: Any, slots: tuple[recorded.Slot, ...], held: Any, received: Received) -> None:
        for slot, raw in zip(slots, held):  # noqa: B905 (as long as each other, and this loop is hot)
            if type(raw) is tuple:
                self._several(node, tuple(map(slot.at, range(len(raw)))), raw, received)
            else:
                self._one(node, slot, raw, received)

    def _hooked(self, name: str, hook: Any) -> None:
        if is_checkpoint_hook(hook):
            self.dropped += 1
            self.written.add_unreadable(
                name, "dropped by non-reentrant checkpoint: recomputed in backward", dropped=True
            )
        else:
            self.written.add_unreadable(name, f"packed by {hook_name(hook)}")

    def _one(self, node: Any, slot: recorded.Slot, raw: Any, received: Received) -> None:
        hook, tensor = recorded.read_raw(raw)
        if hook is not None:
            self._hooked(slot.name, hook)
            return
        if tensor is None:
            self.written.add_unreadable(slot.name, _why_empty(node, slot))
            return
        try:
            shape, dtype, device, version, hooks = recorded.read_tensor(tensor)
            if dtype is not self._dtype or device != self._device:
                self._switch(dtype, device)
            layout, storage = (shape, tensor.stride()), tensor.untyped_storage()
            code, shape = self._layouts.get(layout) or self._learn(layout, tensor)
        except _UNREADABLE as error:
            self._unusual(node, slot, tensor, error_text(error))
            return
        key, owners = recorded.storage_key(storage), self.owners
        known: Maker | None = owners.by_storage.get(key)
        owner: Any = None
        if known is None:
            kind: OwnerKind = "intermediate"
            maker = None if version or hooks else tensor.grad_fn
            if maker is None and slot.is_output and not version:
                maker = node
            owner = owners.ids.get(maker)
            if owner is None:
                known = (
                    self._maker(node, slot, tensor, version, shape, received)
                    if maker is None
                    else owners.made_by(maker)
                )
        if known is not None:
            name, kind = known
            owner = name if isinstance(name, int) else self.written.named(name)
        counted = owners.storages.get(key)
        if counted is None:
            counted = owners.count_storage(key, storage.nbytes(), kind)
        saved = _version_saved(node, slot, version) if version else version
        self.written.add((slot.name, code, kind, saved, version), counted[1], owner)

    def _read_closed(self, node: Any) -> None:
        """The row for a node that saves tensors but has no reader in Python, as some foreach operations."""
        if recorded.is_closed(node):
            self.written.add_unreadable("saved", f"PyTorch gives Python no reader for what {node.name()} saved")

    def _switch(self, dtype: torch.dtype, device: torch.device) -> None:
        """Layouts are kept by dtype and device, which seldom change from one tensor to the next."""
        self._dtype, self._device = dtype, device
        self._layouts = self._tables.setdefault((dtype, device), {})

    def _learn(self, layout: tuple[Any, ...], tensor: torch.Tensor) -> tuple[int, Shape]:
        """Code and plain shape, shared by all tensors laid out alike."""
        shape, stride = plain_shape(layout[0]), plain_shape(layout[1])
        if shape is None or stride is None:
            raise TypeError("symbolic sizes")
        described = Layout(shape, NAMES[tensor.dtype], stride, NAMES[tensor.device], tensor.nbytes)
        learned = self._layouts[layout] = self.written.layout(described), shape
        return learned

    def _unusual(self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, error: str) -> None:
        shape, dtype, stride, device, size, held, storages, version, why = recorded.describe(tensor, error)
        owner = self.owners.of(storages) or self._maker(node, slot, tensor, version, shape, ())
        number = self.owners.count(storages, owner[1])
        code = self.written.layout(Layout(shape, NAMES[dtype], stride, NAMES[device], size))
        saved = _version_saved(node, slot, version) if version else version
        number, saved, version = (-1 if one is None else one for one in (number, saved, version))
        facts = (slot.name, False, why), code, owner[1], saved, version
        self.written.add_unusual(facts, number, owner, held)

    def _maker(
        self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, version: int | None, shape: Any, received: Any
    ) -> Maker:
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


def _version_saved(node: Any, slot: recorded.Slot, version: int) -> int:
    """A tensor written in place at some time: PyTorch raises, and tells the saved version, if that was after saving.

    -1 when PyTorch raises for another reason.
    """
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        versions = versions_in(error)
        return versions[1] if versions else -1
    return version


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
    return "freed by backward" if is_freed(error) else error_text(error)
