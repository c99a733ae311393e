"""Saved slots written into columns one after the other, as the walk meets them."""

from __future__ import annotations

from array import array

import numpy as np

from engine.graph.columns import Layout, SlotColumns, SlotKind, column, integers, recoded
from engine.graph.owners import Maker
from engine.graph.rows import OwnerKind

FIELDS = 7
"""Numbers per slot: kind, layout, bytes and number of the storage, owner, versions at saving and now."""

_NO_LAYOUT = Layout(None, "", None, "", 0)


class SlotWriter:
    """A missing number is -1; an owner is the number of a node, or -1 - the place of its name in `_named`."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, OwnerKind, bool, str], int] = {}
        self._layouts: dict[Layout, int] = {}
        self._named: dict[str, int] = {}
        self._written = array("q")

    def __len__(self) -> int:
        return len(self._written) // FIELDS

    def layout(self, described: Layout) -> int:
        """The code `add` takes for this layout."""
        return self._layouts.setdefault(described, len(self._layouts))

    def add(
        self, name: str, layout: int, counted: tuple[int, int], owner: Maker, saved: int, now: int, why: str = ""
    ) -> None:
        """One slot; `counted` is bytes and number of its storage."""
        of, kind = owner
        key = (name, kind, False, why)
        code = self._kinds.get(key)
        if code is None:
            code = self._kinds[key] = len(self._kinds)
        number = of if isinstance(of, int) else -1 - self._named.setdefault(of, len(self._named))
        self._written.extend((code, layout, *counted, number, saved, now))

    def add_unreadable(self, name: str, why: str, dropped: bool = False) -> None:
        """One slot without a tensor to read."""
        kind = self._kinds.setdefault((name, "", dropped, why), len(self._kinds))
        owner = -1 - self._named.setdefault("", len(self._named))
        self._written.extend((kind, self.layout(_NO_LAYOUT), 0, -1, owner, -1, -1))

    def cut(self, length: int) -> None:
        """Forget what came after the first `length` slots."""
        del self._written[length * FIELDS :]

    def columns(self) -> SlotColumns:
        """Everything written so far."""
        kind, layout, held, storage, owner, saved, now = np.array(self._written, np.int64).reshape(-1, FIELDS).T
        named = owner < 0
        names = recoded(-1 - owner[named], list(self._named))
        owners = owner + len(names.table)
        owners[named] = integers(names.codes)
        return SlotColumns(
            kind=recoded(kind, [SlotKind(*facts) for facts in self._kinds]),
            layout=recoded(layout, list(self._layouts)),
            storage_bytes=column(held),
            storage_id=column(storage + 1),
            owner=column(owners),
            owners=names.table,
            version_saved=column(saved + 1),
            version_now=column(now + 1),
        )
