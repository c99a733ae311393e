"""Every saved slot of a graph, a whole column at a time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from engine.graph.columns import Integers, Layout, SlotColumns, SlotKind, integers, optional
from engine.graph.rows import OwnerKind, Saved


class Slots:
    """The saved slots of all nodes, one after the other in the order of the nodes; each column is made when asked for.

    Arrays are int64; numbers that may be missing are -1 there. The slots of node i are first[i] .. first[i + 1] - 1.
    """

    def __init__(self, columns: SlotColumns, counts: Integers, node_names: list[str]) -> None:
        self._columns, self.counts, self._node_names = columns, counts, node_names

    def __len__(self) -> int:
        return int(self._columns.owner.shape[0])

    @cached_property
    def first(self) -> list[int]:
        """Where the slots of every node begin, and their number at the end."""
        return [0, *np.cumsum(self.counts).tolist()]

    @cached_property
    def nodes(self) -> Integers:
        """The node that keeps the slot."""
        return np.repeat(np.arange(self.counts.size), self.counts)

    @cached_property
    def kind_codes(self) -> Integers:
        """Place of the slot's name, owner kind, `dropped` and `unavailable` in `kinds`."""
        return integers(self._columns.kind.codes)

    @property
    def kinds(self) -> tuple[SlotKind, ...]:
        return self._columns.kind.table

    @cached_property
    def layout_codes(self) -> Integers:
        """Place of the slot's shape, dtype, stride, device and bytes in `layouts`."""
        return integers(self._columns.layout.codes)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        return self._columns.layout.table

    @cached_property
    def names(self) -> list[str]:
        return [self.kinds[code].name for code in self.kind_codes.tolist()]

    @cached_property
    def owner_kinds(self) -> list[OwnerKind]:
        return [self.kinds[code].owner_kind for code in self.kind_codes.tolist()]

    @cached_property
    def dropped(self) -> Integers:
        """1 where a hook keeps a recipe instead of the tensor."""
        return np.array([kind.dropped for kind in self.kinds], dtype=np.int64)[self.kind_codes]

    @cached_property
    def bytes(self) -> Integers:
        """numel * itemsize."""
        return np.array([layout.bytes for layout in self.layouts], dtype=np.int64)[self.layout_codes]

    @cached_property
    def storage_bytes(self) -> Integers:
        return integers(self._columns.storage_bytes)

    @cached_property
    def storage_ids(self) -> Integers:
        return optional(self._columns.storage_id)

    @cached_property
    def makers(self) -> Integers:
        """Number of the node that made the tensor; -1 where a name says whose it is."""
        return np.maximum(self._owner_codes - len(self._columns.owners), -1)

    @cached_property
    def owners(self) -> list[str]:
        """The name of the tensor's owner: a leaf, input or buffer, or "AddmmBackward0 #17"."""
        return list(map(self._owner, self._owner_codes.tolist()))

    @cached_property
    def versions_saved(self) -> Integers:
        return optional(self._columns.version_saved)

    @cached_property
    def versions_now(self) -> Integers:
        return optional(self._columns.version_now)

    @cached_property
    def modified(self) -> Integers:
        """The slots whose tensor was written to in place after it was saved; backward refuses them."""
        saved, now = self.versions_saved, self.versions_now
        return np.flatnonzero((saved >= 0) & (now >= 0) & (saved != now))

    def rows(self, start: int, stop: int) -> tuple[Saved, ...]:
        """The slots from `start` up to `stop` as rows."""
        part = slice(start, stop)
        columns = (
            self.kind_codes,
            self.layout_codes,
            self.storage_bytes,
            self.storage_ids,
            self._owner_codes,
            self.versions_saved,
            self.versions_now,
        )
        return tuple(map(self._row, *(column[part].tolist() for column in columns)))

    def _row(self, kind: int, layout: int, held: int, storage: int, owner: int, before: int, now: int) -> Saved:
        is_of, is_like = self.kinds[kind], self.layouts[layout]
        return Saved(
            is_of.name,
            is_like.shape,
            is_like.dtype,
            is_like.stride,
            is_like.device,
            is_like.bytes,
            held,
            None if storage < 0 else storage,
            self._owner(owner),
            is_of.owner_kind,
            None if before < 0 else before,
            None if now < 0 else now,
            is_of.dropped,
            is_of.unavailable,
        )

    @cached_property
    def _owner_codes(self) -> Integers:
        return integers(self._columns.owner)

    def _owner(self, code: int) -> str:
        named = self._columns.owners
        if code < len(named):
            return named[code]
        return f"{self._node_names[code - len(named)]} #{code - len(named)}"
