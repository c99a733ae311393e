"""Saved-tensor slots, described without unpacking what a hook has packed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
import torch

from engine import recorded
from engine.graph.owners import Owner, Owners
from engine.graph.spec import Saved
from engine.graph.texts import NAMES
from engine.graph.wording import hook_name, is_checkpoint_hook, is_freed, versions_in

_UNREADABLE = (RuntimeError, NotImplementedError, TypeError)

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
        found: list[Saved] = []
        for slot, raw in zip(slots, held):  # noqa: B905 (as long as each other, and this loop is hot)
            if type(raw) is tuple:
                entries = tuple(map(slot.at, range(len(raw))))
                found += self.slots_of(node, entries, raw, incoming)
                continue
            hook = raw.unpack_hook
            if hook is not None:
                found.append(self._hooked(slot.name, hook))
                continue
            tensor = raw.data
            if tensor is None:
                found.append(_empty(node, slot))
                continue
            seen = self._seen.get(id(tensor))
            saved = self._describe(node, slot, tensor, incoming) if seen is None else seen[1]
            if saved.name != slot.name:
                saved = Saved(slot.name, *msgspec.structs.astuple(saved)[1:])
            found.append(_with_version_saved(node, slot, saved) if saved.version_now else saved)
        return tuple(found)

    def _hooked(self, name: str, hook: Any) -> Saved:
        if is_checkpoint_hook(hook):
            self.dropped += 1
            return _unreadable(name, "dropped by non-reentrant checkpoint: recomputed in backward", dropped=True)
        return _unreadable(name, f"packed by {hook_name(hook)}")

    def _describe(self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, incoming: Any) -> Saved:
        try:
            shape, dtype, device, size, version = recorded.read_tensor(tensor)
            stride, storage = tensor.stride(), tensor.untyped_storage()
            key, held = recorded.storage_key(storage), storage.nbytes()
        except _UNREADABLE as error:
            return self._describe_unusual(node, slot, tensor, str(error))
        if type(size) is not int:
            return self._describe_unusual(node, slot, tensor, "symbolic sizes")
        found = self.owners.by_storage.get(key) or self._maker(node, slot, tensor, version, shape, incoming)
        owner, kind = found
        number = self.owners.number(key, held, kind)
        names = NAMES[dtype], NAMES[device]
        saved = Saved(
            slot.name,
            tuple(shape),
            names[0],
            stride,
            names[1],
            size,
            held,
            number,
            owner,
            kind,
            version,
            version,
            False,
        )
        self._seen[id(tensor)] = tensor, saved
        return saved

    def _describe_unusual(self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, error: str) -> Saved:
        shape, dtype, stride, device, size, held, storages, version, why = recorded.describe(tensor, error)
        owner, kind = self.owners.of(storages) or self._maker(node, slot, tensor, version, shape, ())
        number = self.owners.count(storages, kind)
        names = NAMES[dtype], NAMES[device]
        saved = Saved(
            slot.name, shape, names[0], stride, names[1], size, held, number, owner, kind, version, version, False, why
        )
        self._seen[id(tensor)] = tensor, saved
        return saved

    def _maker(
        self, node: Any, slot: recorded.Slot, tensor: torch.Tensor, version: int | None, shape: Any, incoming: Any
    ) -> Owner:
        """The operation that made an intermediate: another one, or the node itself when it saved its own output."""
        producer = recorded.producer(tensor) if version else tensor.grad_fn
        if producer is not None:
            if recorded.has_hooks(tensor) and producer in self.owners.ids:
                self.hooks[self.owners.ids[producer]] = recorded.tensor_hooks(tensor)
            return self.owners.made_by(producer)
        if slot.is_output:
            return self.owners.made_by(node)
        if shape == () and recorded.is_python_number(tensor):
            return PYTHON_NUMBER
        looks_like_output = any(shape == metadata.shape for metadata in incoming)
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
    return "freed by backward" if is_freed(error) else str(error)


def unreadable_slots(slots: tuple[recorded.Slot, ...], error: RuntimeError) -> tuple[Saved, ...]:
    """The slots of a node none of which can be read."""
    return tuple([_unreadable(slot.name, why_unreadable(error)) for slot in slots])


def closed_slots(name: str) -> tuple[Saved, ...]:
    """The row for a node that saves tensors but has no reader in Python, as some foreach operations."""
    return (_unreadable("saved", f"PyTorch gives Python no reader for what {name} saved"),)


@lru_cache(maxsize=256)
def _unreadable(name: str, why: str, dropped: bool = False) -> Saved:
    return Saved(name, None, "", None, "", 0, 0, None, "", "", None, None, dropped, why)
