"""Saved slots written into columns one after the other, as the walk meets them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from engine.graph.columns import Integers, Layout, SlotColumns, SlotKind, column, integers, recoded
from engine.graph.owners import Maker
from engine.graph.rows import OwnerKind

FIELDS = 3
"""Numbers written per slot: facts, storage, owner."""

Word = str | tuple[str, bool, str]
"""Name of a slot; with `dropped` and `unavailable` where there is a reason to say more."""

Facts = tuple[Word, int, OwnerKind, int, int]
"""Word, code of the layout, owner kind, version when saved, version now: slots differ in few of these."""


class SlotWriter:
    """A missing number is -1; an owner is the number of a node, or -1 - the place of its name."""

    def __init__(self) -> None:
        self.count = 0
        """Slots so far."""
        self._facts: dict[Facts, int] = {}
        self._layouts: dict[Layout, int] = {}
        self._named: dict[str, int] = {}
        self._written = array("q")
        self._held: dict[int, int] = {}
        """Bytes of the slots for which they are not those of their storage."""
        self._nothing = self.layout(Layout(None, "", None, "", 0)), self.named("")

    def layout(self, described: Layout) -> int:
        """The code of a layout."""
        return self._layouts.setdefault(described, len(self._layouts))

    def named(self, name: str) -> int:
        """The number that stands for an owner of this name."""
        return -1 - self._named.setdefault(name, len(self._named))

    def add(self, facts: Facts, storage: int, owner: int) -> None:
        """One slot, by the number of its storage and of its owner."""
        code = self._facts.get(facts)
        if code is None:
            code = self._facts[facts] = len(self._facts)
        self._written.extend((code, storage, owner))
        self.count += 1

    def add_unusual(self, facts: Facts, storage: int, maker: Maker, held: int) -> None:
        """One slot whose tensor keeps several storages, or none."""
        self._held[self.count] = held
        self.add(facts, storage, maker[0] if isinstance(maker[0], int) else self.named(maker[0]))

    def add_unreadable(self, name: str, why: str, dropped: bool = False) -> None:
        """One slot without a tensor to read."""
        layout, owner = self._nothing
        self.add(((name, dropped, why), layout, "", -1, -1), -1, owner)

    def cut(self, count: int) -> None:
        """Forget what came after the first `count` slots."""
        del self._written[count * FIELDS :]
        self._held = {slot: held for slot, held in self._held.items() if slot < count}
        self.count = count

    def columns(self, storage_bytes: Iterable[int]) -> SlotColumns:
        """Everything written so far; `storage_bytes` are those of storage 0, 1, 2, ..."""
        facts, storage, owner = np.array(self._written, np.int64).reshape(-1, FIELDS).T
        words, layouts, kinds, saved, now = zip(*self._facts, strict=True) if self._facts else ((),) * 5
        named = owner < 0
        names = recoded(-1 - owner[named], list(self._named))
        owners = owner + len(names.table)
        owners[named] = integers(names.codes)
        held = np.array([*storage_bytes, 0], dtype=np.int64)[storage]
        held[list(self._held)] = list(self._held.values())
        return SlotColumns(
            kind=recoded(facts, list(map(_kind, words, kinds))),
            layout=recoded(_numbers(layouts)[facts], list(self._layouts)),
            storage_bytes=column(held),
            storage_id=column(storage + 1),
            owner=column(owners),
            owners=names.table,
            version_saved=column(_numbers(saved)[facts] + 1),
            version_now=column(_numbers(now)[facts] + 1),
        )


def _kind(word: Word, owner_kind: OwnerKind) -> SlotKind:
    return SlotKind(word, owner_kind) if isinstance(word, str) else SlotKind(word[0], owner_kind, word[1], word[2])


def _numbers(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)
