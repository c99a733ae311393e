"""A graph as columns: every repeated value once in a table, and per row its place in it or a small whole number.

Numbers are `Array`s of the smallest unsigned dtype. Where a number may be missing, 0 says so and n + 1 stands for n.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from engine.graph.rows import Attribute, NodeKind, OwnerKind, Row, Source, TensorMetadata
from engine.runner.contract import Array

T = TypeVar("T", bound=Hashable)
Integers = npt.NDArray[np.int64]

ITEM_BYTES = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
LARGEST = 2**63
"""A sequence number may be as large as an int64 holds, and is stored one higher."""

DTYPES = {name: np.dtype(name).newbyteorder("<") for name in ITEM_BYTES}
_SMALLEST = [next((name, DTYPES[name]) for name, size in ITEM_BYTES.items() if size >= held) for held in range(9)]


class Coded(msgspec.Struct, Generic[T], frozen=True, array_like=True):
    """A column of few different values: each once, in order of appearance, and per row its place in that table."""

    table: tuple[T, ...]
    codes: Array

    def values(self) -> list[T]:
        """The value of every row."""
        return list(map(self.table.__getitem__, integers(self.codes).tolist()))

    def places(self) -> Integers:
        """The place of every row's value in the table."""
        return integers(self.codes)

    def are(self, holds: Callable[[T], bool]) -> npt.NDArray[np.bool_]:
        """Which rows have a value that `holds`; every different value is asked about once."""
        return np.array([holds(value) for value in self.table], dtype=np.bool_)[self.places()]


class Layout(Row, frozen=True, array_like=True, gc=False):
    """What saved tensors laid out alike have in common; the fields are those of `Saved`."""

    shape: tuple[int, ...] | None
    dtype: str
    stride: tuple[int, ...] | None
    device: str
    bytes: int


class SlotKind(Row, frozen=True, array_like=True, gc=False):
    """What few saved slots differ in: name, owner kind, and why there is no tensor to read."""

    name: str
    owner_kind: OwnerKind
    dropped: bool = False
    unavailable: str = ""


class NodeColumns(msgspec.Struct, frozen=True, kw_only=True):
    """One row per node; `sequence_nr` may be missing, `saved` counts the node's rows in the slots' columns."""

    name: Coded[str]
    kind: Coded[NodeKind]
    sequence_nr: Array
    attributes: Coded[tuple[Attribute, ...]]
    inputs: Coded[tuple[TensorMetadata, ...]]
    saved: Array
    module: Coded[str]
    source: Coded[Source | None]
    hooks: Coded[tuple[str, ...]]
    variable: Coded[str]


class SlotColumns(msgspec.Struct, frozen=True, kw_only=True):
    """One row per saved slot, in the order of the nodes; `storage_id` and the versions may be missing.

    `owner` below len(owners) is a place in that table; from there on it is the number of the node that made the tensor,
    plus len(owners).
    """

    kind: Coded[SlotKind]
    layout: Coded[Layout]
    storage_bytes: Array
    storage_id: Array
    owner: Array
    owners: tuple[str, ...]
    version_saved: Array
    version_now: Array


class EdgeColumns(msgspec.Struct, frozen=True, kw_only=True):
    """One row per edge; `target` is missing where a slot is empty."""

    source: Array
    output_nr: Array
    target: Array
    input_nr: Array


def integers(column: Array) -> Integers:
    """The numbers of a column as they are stored."""
    return np.frombuffer(column.data, DTYPES[column.dtype]).astype(np.int64)


def optional(column: Array) -> Integers:
    """The numbers of a column in which some may be missing: -1 for those."""
    stored = np.frombuffer(column.data, DTYPES[column.dtype])
    return (stored.astype(np.uint64) - np.uint64(1)).astype(np.int64)


def column(numbers: Sequence[int] | npt.NDArray[Any]) -> Array:
    """Whole numbers from 0 as an Array of the smallest dtype that holds them; OverflowError for others."""
    given = numbers if isinstance(numbers, np.ndarray) else np.array(numbers, dtype=np.uint64)
    array = given.astype(np.uint64, copy=False)  # negative ones become too large
    largest = int(array.max()) if array.size else 0
    if largest > LARGEST:
        received = largest if given.dtype == np.uint64 else int(given.min())
        raise OverflowError(f"A column holds whole numbers from 0 to {LARGEST}; received {received}.")
    name, dtype = _SMALLEST[(largest.bit_length() + 7) // 8]
    return Array(name, (array.size,), array.astype(dtype).tobytes())


def optional_column(numbers: Sequence[int | None]) -> Array:
    """The same for numbers some of which are missing (None)."""
    return column([0 if number is None else number + 1 for number in numbers])


def coded(values: Sequence[T]) -> Coded[T]:
    """A column of values, each different one once; most equal values are one object, which is told at a glance."""
    objects = dict(zip(map(id, values), values, strict=True))
    table = tuple(dict.fromkeys(objects.values()))
    places = dict(zip(table, range(len(table)), strict=True))
    of_object = dict(zip(objects, map(places.__getitem__, objects.values()), strict=True))
    return Coded(table, column(np.fromiter(map(of_object.__getitem__, map(id, values)), np.int64, len(values))))


def recoded(codes: Integers, values: Sequence[T]) -> Coded[T]:
    """The column `values[code] for code in codes`; equal values become one, unused ones are dropped."""
    table = list(dict.fromkeys(values))
    if len(table) < len(values):
        places = dict(zip(table, range(len(table)), strict=True))
        codes = np.fromiter(map(places.__getitem__, values), np.int64, len(values))[codes]
    first = np.full(len(table), codes.size)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    order = np.argsort(first)[: np.count_nonzero(first < codes.size)].tolist()
    if order == list(range(len(table))):
        return Coded(tuple(table), column(codes))
    renamed = np.empty(len(table), dtype=np.int64)
    renamed[order] = np.arange(len(order))
    return Coded(tuple(map(table.__getitem__, order)), column(renamed[codes]))
