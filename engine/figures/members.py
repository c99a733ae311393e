"""Which autograd nodes every box stands for, on whole columns: a group of 100,000 nodes costs milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec
import numpy as np

from engine.figures.fold import Folded
from engine.figures.hierarchy import Item
from engine.graph.columns import Integers, integers
from engine.graph.spec import Graph


class Sums(msgspec.Struct, frozen=True):
    """Numbers over some nodes: bytes kept alive (each storage once), slots dropped by a hook, slots modified since."""

    saved_bytes: int
    dropped: int
    modified: int


class Members:
    """Nodes by box position and sums over them; `host` and `place` lead from a node to the position of its box."""

    def __init__(self, graph: Graph, folded: Folded) -> None:
        self.graph, self.folded = graph, folded

    @cached_property
    def host(self) -> Integers:
        return np.array(self.folded.host, np.int64)

    @cached_property
    def place(self) -> Integers:
        """Position of every box in the forward order, by its number; -1 for none."""
        found = np.full(len(self.folded.host) + len(self.folded.copies) + 1, -1, np.int64)
        found[np.array(self.folded.order, np.int64)] = np.arange(len(self.folded.order))
        return found

    @cached_property
    def by_position(self) -> tuple[Integers, Integers]:
        """(members of all boxes one after the other, where those of each position begin)."""
        folded = self.folded
        own = np.array([folded.copies.get(box, box) for box in folded.order], np.int64)
        more = {
            int(self.place[box]): (*folded.absorbed.get(box, ()), *(use.node for use in folded.leaves.get(box, ())))
            for box in folded.absorbed.keys() | folded.leaves.keys()
        }
        counts = np.ones(own.size, np.int64)
        counts[list(more)] += np.array([len(nodes) for nodes in more.values()], np.int64)
        starts = np.concatenate(([0], np.cumsum(counts)))
        ids = np.empty(int(starts[-1]), np.int64)
        ids[starts[:-1]] = own
        for position, nodes in more.items():
            ids[starts[position] + 1 : starts[position + 1]] = nodes
        return ids, starts

    def of(self, item: Item) -> Integers:
        """Node ids an item stands for, each once: boxes inside, what they absorbed, and their leaves."""
        ids, starts = self.by_position
        part = ids[starts[item.first] : starts[item.last]]
        _, first = np.unique(part, return_index=True)
        return part if first.size == part.size else part[np.sort(first)]

    def boxes(self, item: Item) -> tuple[int, ...]:
        """Node ids of the boxes alone; a copy of a leaf is that leaf."""
        return tuple(self.folded.copies.get(box, box) for box in self.folded.order[item.first : item.last])

    @cached_property
    def is_leaf(self) -> Integers:
        """1 for nodes that only accumulate into a leaf's `.grad`."""
        coded = self.graph.node_columns.name
        named = np.array(["AccumulateGrad" in name for name in coded.table], np.int64)
        kinds = np.array([kind == "leaf" for kind in self.graph.node_kinds], np.int64)
        return named[self.name_codes] | kinds if kinds.size else kinds

    @cached_property
    def name_codes(self) -> Integers:
        """Place of every node's name in `graph.node_columns.name.table`."""
        return integers(self.graph.node_columns.name.codes)

    def operations(self, ids: Integers) -> list[tuple[str, int]]:
        """(name, how many) of nodes that are no leaves, most first."""
        table = self.graph.node_columns.name.table
        counts = np.bincount(self.name_codes[ids[self.is_leaf[ids] == 0]], minlength=len(table)).tolist()
        found = [(name, count) for name, count in zip(table, counts, strict=True) if count]
        return sorted(found, key=lambda entry: -entry[1])

    def sums(self, ids: Integers) -> Sums:
        """Over all slots of these nodes; what cannot be read is not counted."""
        slots = self.graph.slots
        if not len(slots):
            return Sums(0, 0, 0)
        at = self._slots_of(ids)
        kept = at[self._unreadable[at] == 0]
        storages = slots.storage_ids[kept]
        loose = int(slots.bytes[kept[storages < 0]].sum())
        with_storage = kept[storages >= 0][::-1]
        _, last = np.unique(slots.storage_ids[with_storage], return_index=True)
        held = int(slots.storage_bytes[with_storage[last]].sum())
        return Sums(held + loose, int(slots.dropped[at].sum()), int(np.isin(at, slots.modified).sum()))

    @cached_property
    def _unreadable(self) -> Integers:
        slots = self.graph.slots
        return np.array([kind.dropped or bool(kind.unavailable) for kind in slots.kinds], np.int64)[slots.kind_codes]

    @cached_property
    def _first_slots(self) -> Integers:
        return np.array(self.graph.slots.first, np.int64)

    def _slots_of(self, ids: Integers) -> Integers:
        """Numbers of the slots of these nodes, in the nodes' order."""
        first, counts = self._first_slots[ids], self.graph.saved_counts[ids]
        before = np.cumsum(counts) - counts
        found: Integers = np.arange(int(counts.sum())) + np.repeat(first - before, counts)
        return found


class MembersByAddress(Mapping[str, tuple[int, ...]]):
    """Node ids by address of a visible box or of any leaf; worked out when one is asked for."""

    def __init__(self, members: Members, items: Mapping[str, Item], names: list[str]) -> None:
        self._members, self._items, self._names = members, items, names

    @cached_property
    def _leaves(self) -> dict[str, int]:
        return {self._names[node]: node for node in np.flatnonzero(self._members.is_leaf).tolist()}

    def __getitem__(self, address: str) -> tuple[int, ...]:
        if address in self._leaves:
            return (self._leaves[address],)
        return tuple(self._members.of(self._items[address]).tolist())

    def __iter__(self) -> Iterator[str]:
        return iter(self._items.keys() | self._leaves)

    def __len__(self) -> int:
        return len(self._items.keys() | self._leaves)
