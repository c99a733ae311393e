"""What the nodes of the graph keep for backward, read again after every statement without disturbing it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from engine import recorded
from engine.graph.wording import is_freed, versions_in
from engine.in_place.ledger import Ledger
from engine.in_place.results import NodeMade, SavedSlot, SlotState


class Nodes:
    """Every node seen so far by number, with a copy of what each saved as it was when first seen."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.made: list[NodeMade] = []
        self.numbers: dict[Any, int] = {}
        self._first: dict[tuple[int, str], torch.Tensor] = {}

    def number(self, node: Any, line: int) -> int:
        """The number of a node; one not seen before was made by the statement of `line`."""
        if node not in self.numbers:
            self.numbers[node] = len(self.made)
            self.made.append(NodeMade(len(self.made), node.name(), line))
        return self.numbers[node]

    def slots(self, nodes: list[Any], line: int) -> tuple[SavedSlot, ...]:
        """What these nodes hold now."""
        for node in reversed(nodes):
            self.number(node, line)
        return tuple(slot for node in nodes for slot in self._of(node))

    def _of(self, node: Any) -> Iterator[SavedSlot]:
        number = self.numbers[node]
        for slot, tensor, is_open in _read(node):
            if not is_open:
                yield _closed(number, slot.name, "freed")
            elif tensor is not None:
                yield self._slot(node, number, slot, tensor)

    def _slot(self, node: Any, number: int, slot: recorded.Slot, tensor: torch.Tensor) -> SavedSlot:
        version = recorded.version_of(tensor)
        storage, counter = self.ledger.storage(tensor), self.ledger.counter(tensor)
        if version is None:
            return _closed(number, slot.name, "unreadable")
        saved = version
        state: SlotState = "fresh"
        try:
            recorded.unpack_hookless(node, slot)
        except RuntimeError as error:
            versions = versions_in(error)
            if versions is None:
                return _closed(number, slot.name, "freed" if is_freed(error) else "unreadable")
            saved, state = versions[1], "stale"
        key = (number, slot.name)
        if key not in self._first:
            self._first[key] = tensor.detach().clone()
        before = self._first[key]
        if state == "fresh" and not _same(before, tensor.detach()):
            state = "overwritten"
        return SavedSlot(
            node=number,
            slot=slot.name,
            storage=storage,
            counter=counter,
            version_saved=saved,
            version_now=version,
            state=state,
        )


def _same(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Equal element by element, NaN like NaN; `x.data = ...` can leave another shape or dtype behind."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    return bool(((first == second) | ((first != first) & (second != second))).all())


def _closed(number: int, name: str, state: SlotState) -> SavedSlot:
    return SavedSlot(node=number, slot=name, storage=-1, counter=-1, version_saved=-1, version_now=-1, state=state)


def _read(node: Any) -> Iterator[tuple[recorded.Slot, torch.Tensor | None, bool]]:
    """(slot, tensor or None, whether it can be read) of everything a node saves; numbers of Python are left out."""
    layout = recorded.layout_of(node)
    try:
        held = layout.read_slots(node)
    except RuntimeError:
        yield from ((slot, None, False) for slot in layout.slots)
        return
    for slot, raw in zip(layout.slots, held if len(layout.slots) != 1 else (held,), strict=True):
        entries = [(slot.at(place), one) for place, one in enumerate(raw)] if type(raw) is tuple else [(slot, raw)]
        for one, saved in entries:
            hook, tensor = recorded.read_raw(saved)
            if hook is not None or (tensor is None and not _is_freed(node, one)):
                continue
            if tensor is not None and tensor.dim() == 0 and recorded.is_python_number(tensor):
                continue
            yield one, tensor, tensor is not None


def _is_freed(node: Any, slot: recorded.Slot) -> bool:
    try:
        recorded.unpack_hookless(node, slot)
    except RuntimeError as error:
        return is_freed(error)
    return False


def reachable(roots: list[Any]) -> list[Any]:
    """Every node behind these, nearest first, each once."""
    found: dict[Any, None] = dict.fromkeys(roots)
    waiting = list(found)
    for node in waiting:
        for target, _ in node.next_functions:
            if target is not None and target not in found:
                found[target] = None
                waiting.append(target)
    return waiting
