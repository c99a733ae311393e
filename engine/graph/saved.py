"""Saved-tensor slots, described without unpacking what a hook has packed."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from engine import recorded
from engine.graph.owners import Owners
from engine.graph.spec import Saved
from engine.graph.texts import name_of


class Described(NamedTuple):
    """What one tensor looks like, whichever slot it sits in; `tensor` keeps its identity valid during the walk."""

    tensor: torch.Tensor
    shape: tuple[int, ...] | None
    dtype: str
    stride: tuple[int, ...] | None
    device: str
    bytes: int
    storage_bytes: int
    storages: tuple[tuple[int, int], ...]
    version: int | None
    unavailable: str


class SavedReader:
    """Reads the saved slots of one graph; lives no longer than the walk, so it keeps no tensor alive."""

    def __init__(self, owners: Owners) -> None:
        self.owners = owners
        self.dropped = 0
        self.hooks: dict[int, tuple[str, ...]] = {}
        self._described: dict[int, Described] = {}

    def slots_of(self, node: Any, layout: recorded.NodeLayout) -> tuple[Saved, ...]:
        """Every saved slot of a node in the order of PyTorch's own listing."""
        return tuple(
            self._slot(node, name, slot, unpacking, index)
            for name, slot, unpacking, index in recorded.saved_slots(node, layout)
        )

    def _slot(self, node: Any, name: str, slot: Any, unpacking: str, index: int | None) -> Saved:
        if isinstance(slot, Exception):
            return _unreadable(name, "freed by backward" if recorded.is_freed(slot) else str(slot))
        hook = slot.unpack_hook
        if hook is not None:
            return self._hooked(name, hook)
        tensor = slot.data
        if tensor is None:
            return _unreadable(name, _why_empty(node, unpacking, index))
        seen = self._described.get(id(tensor))
        if seen is None:
            seen = self._described[id(tensor)] = describe(tensor)
            self._note_hooks(tensor)
        return self._filled(node, name, unpacking, index, seen)

    def _note_hooks(self, tensor: torch.Tensor) -> None:
        if recorded.has_hooks(tensor) and (node := recorded.producer(tensor)) in self.owners.ids:
            self.hooks[self.owners.ids[node]] = recorded.tensor_hooks(tensor)

    def _hooked(self, name: str, hook: Any) -> Saved:
        if recorded.is_checkpoint_hook(hook):
            self.dropped += 1
            return _unreadable(name, "dropped by non-reentrant checkpoint: recomputed in backward", dropped=True)
        return _unreadable(name, f"packed by {recorded.hook_name(hook)}")

    def _filled(self, node: Any, name: str, unpacking: str, index: int | None, seen: Described) -> Saved:
        owner, version = self.owners.of(seen.storages), seen.version
        if owner is None or version:
            made_here, version = _read_back(node, unpacking, index, seen)
            if owner is None:
                owner = self.owners.made_by(node if made_here else recorded.producer(seen.tensor))
        return Saved(
            name,
            seen.shape,
            seen.dtype,
            seen.stride,
            seen.device,
            seen.bytes,
            seen.storage_bytes,
            self.owners.count(seen.storages, owner[1]),
            owner[0],
            owner[1],
            version,
            seen.version,
            False,
            seen.unavailable,
        )


def _read_back(node: Any, unpacking: str, index: int | None, seen: Described) -> tuple[bool, int | None]:
    """(whether the node itself made the tensor, version at which it was saved)."""
    try:
        value = recorded.unpack_hookless(node, unpacking, index)
    except RuntimeError as error:
        versions = recorded.versions_in(error)
        itself = "which is output" in str(error) and recorded.producer(seen.tensor) is None
        return itself, versions[1] if versions else None
    itself = isinstance(value, torch.Tensor) and value is not seen.tensor and recorded.producer(value) is node
    return itself, seen.version


def _why_empty(node: Any, unpacking: str, index: int | None) -> str:
    try:
        recorded.unpack_hookless(node, unpacking, index)
    except RuntimeError as error:
        return "freed by backward" if recorded.is_freed(error) else str(error)
    return "empty: the operation had no such tensor"


def _unreadable(name: str, why: str, dropped: bool = False) -> Saved:
    return Saved(name, None, "", None, "", 0, 0, None, "", "", None, None, dropped, why)


def describe(tensor: torch.Tensor) -> Described:
    """Shape, strides, bytes and storages of a tensor; what its layout does not have is None with the reason."""
    try:
        storage = recorded.storage_of(tensor)
        return Described(
            tensor,
            tuple(tensor.shape),
            name_of(tensor.dtype),
            tensor.stride(),
            name_of(tensor.device),
            tensor.nbytes,
            storage[1],
            (storage,),
            recorded.version_of(tensor),
            "",
        )
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return _describe_unusual(tensor, str(error).split("\n")[0])


def _describe_unusual(tensor: torch.Tensor, why: str) -> Described:
    """A sparse, nested or wrapped tensor: its parts' storages where they can be reached."""
    storages = recorded.storages_of(tensor)
    total = sum(size for _, size in storages)
    layout = str(tensor.layout).removeprefix("torch.")
    reason = f"{layout}: {len(storages)} storages, no strides of its own" if storages else why
    return Described(
        tensor,
        recorded.shape_of(tensor),
        name_of(tensor.dtype),
        None,
        name_of(tensor.device),
        total,
        total,
        storages,
        recorded.version_of(tensor),
        reason,
    )
