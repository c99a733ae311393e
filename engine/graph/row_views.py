"""A graph's columns as sequences of rows, each made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar, overload

from engine.graph.columns import Coded, EdgeColumns, NodeColumns, integers, optional
from engine.graph.rows import Edge, Node
from engine.graph.slot_table import Slots

R = TypeVar("R", bound=Node | Edge)

_AT_ONCE = 4096
"""Rows made at once while iterating: fast, and never all in memory."""


class Rows(Sequence[R], Generic[R]):
    """Rows of a graph; equal to any sequence of equal rows."""

    def __init__(self, count: int) -> None:
        self._count = count

    def _part(self, start: int, stop: int) -> Iterator[R]:
        raise NotImplementedError

    def _one(self, at: int) -> R:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[R, ...]: ...
    def __getitem__(self, place: int | slice) -> R | tuple[R, ...]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._count)
            if step == 1:
                return tuple(self._part(start, max(start, stop)))
            return tuple(self[one] for one in range(start, stop, step))
        at = place + self._count if place < 0 else place
        if not 0 <= at < self._count:
            raise IndexError(f"There are {self._count} rows; received {place}.")
        return self._one(at)

    def __iter__(self) -> Iterator[R]:
        starts = range(0, self._count, _AT_ONCE)
        return chain.from_iterable(self._part(start, min(start + _AT_ONCE, self._count)) for start in starts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(_equal, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{self._count} rows of a graph>"


def _equal(own: object, other: object) -> bool:
    return own == other


class Nodes(Rows[Node]):
    """`Graph.nodes`."""

    def __init__(self, columns: NodeColumns, slots: Slots) -> None:
        super().__init__(columns.sequence_nr.shape[0])
        self._slots = slots
        self._sequence_nrs = optional(columns.sequence_nr)
        repeated: tuple[Coded[Any], ...] = (
            columns.name,
            columns.kind,
            columns.attributes,
            columns.inputs,
            columns.module,
            columns.source,
            columns.hooks,
            columns.variable,
        )
        self._repeated = [(one.table, integers(one.codes)) for one in repeated]
        self._items = [(table, codes.item) for table, codes in self._repeated]

    def _one(self, at: int) -> Node:
        name, kind, attributes, inputs, module, source, hooks, variable = [
            table[item(at)] for table, item in self._items
        ]
        number, slots = self._sequence_nrs.item(at), self._slots
        saved = slots.rows(slots.first[at], slots.first[at + 1]) if slots.counts.item(at) else ()
        place = None if number < 0 else number
        return Node(at, name, kind, place, attributes, inputs, saved, module, source, hooks, variable)

    def _part(self, start: int, stop: int) -> Iterator[Node]:
        part = slice(start, stop)
        names, kinds, attributes, inputs, modules, sources, hooks, variables = (
            map(table.__getitem__, codes[part].tolist()) for table, codes in self._repeated
        )
        numbers = (None if number < 0 else number for number in self._sequence_nrs[part].tolist())
        first = self._slots.first
        slots, before = self._slots.rows(first[start], first[stop]), first[start]
        saved = (slots[one - before : end - before] for one, end in pairwise(first[start : stop + 1]))
        return map(
            Node,
            range(start, stop),
            names,
            kinds,
            numbers,
            attributes,
            inputs,
            saved,
            modules,
            sources,
            hooks,
            variables,
        )


class Edges(Rows[Edge]):
    """`Graph.edges`."""

    def __init__(self, columns: EdgeColumns) -> None:
        super().__init__(columns.source.shape[0])
        self._source, self._output_nr = integers(columns.source), integers(columns.output_nr)
        self._target, self._input_nr = optional(columns.target), integers(columns.input_nr)

    def _one(self, at: int) -> Edge:
        target = self._target.item(at)
        source, output_nr, input_nr = self._source.item(at), self._output_nr.item(at), self._input_nr.item(at)
        return Edge(source, output_nr, None if target < 0 else target, input_nr)

    def _part(self, start: int, stop: int) -> Iterator[Edge]:
        part = slice(start, stop)
        targets = (None if target < 0 else target for target in self._target[part].tolist())
        return map(
            Edge,
            self._source[part].tolist(),
            self._output_nr[part].tolist(),
            targets,
            self._input_nr[part].tolist(),
        )
