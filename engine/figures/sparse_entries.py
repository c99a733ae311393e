"""Where every stored value of a layout lies in the matrix, worked out from the arrays that PyTorch gave."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec

from engine.sparse.results import LayoutArrays, SparseTrace

ZEROS = ("0", "-0", "False")


class Stored(msgspec.Struct, frozen=True):
    """One stored value: its place in the matrix, its position in `values()`, and what is special about it."""

    row: int
    column: int
    position: int
    block: int
    address_inside: str
    """As in values[...]: "4", or "1, 0, 2" inside blocks."""
    mark: str = ""
    note: str = ""

    @property
    def address(self) -> str:
        return f"values[{self.address_inside}]"


def place_of(trace: SparseTrace, one: Stored) -> int:
    """The number of the dense cell, row-major."""
    return one.row * trace.shape[1] + one.column


def stored_entries(trace: SparseTrace, layout: LayoutArrays) -> tuple[Stored, ...]:
    """Every stored value in the order of `values()`, padding of blocks included; nothing after a refusal."""
    if layout.error is not None:
        return ()
    if layout.layout == "coo":
        numbers = layout.members[0].numbers
        nnz = len(numbers) // 2
        places = list(zip(numbers[:nnz], numbers[nnz:], strict=True))
        return _marked(trace, layout, [Stored(r, c, k, k, str(k)) for k, (r, c) in enumerate(places)])
    if layout.layout in ("bsr", "bsc"):
        return _marked(trace, layout, _block_entries(layout))
    places = _compressed_places(layout)
    return _marked(trace, layout, [Stored(r, c, k, k, str(k)) for k, (r, c) in enumerate(places)])


def _compressed_places(layout: LayoutArrays) -> list[tuple[int, int]]:
    """(row, column) of every entry, of every block in block units, by walking the pointers."""
    pointers, plain, _ = layout.members
    lines = [line for line, (start, end) in enumerate(pairwise(pointers.numbers)) for _ in range(start, end)]
    pairs = zip(lines, plain.numbers, strict=True)
    return list(pairs) if layout.layout in ("csr", "bsr") else [(row, column) for column, row in pairs]


def _block_entries(layout: LayoutArrays) -> list[Stored]:
    _, height, width = layout.members[2].shape
    return [
        Stored(row * height + i, column * width + j, (k * height + i) * width + j, k, f"{k}, {i}, {j}")
        for k, (row, column) in enumerate(_compressed_places(layout))
        for i in range(height)
        for j in range(width)
    ]


def _marked(trace: SparseTrace, layout: LayoutArrays, stored: list[Stored]) -> tuple[Stored, ...]:
    uses = Counter((one.row, one.column) for one in stored)
    entered = {(entry.row, entry.column) for entry in trace.entries}
    texts = layout.members[-1].texts
    return tuple(_mark(one, uses[one.row, one.column], texts[one.position], entered) for one in stored)


def _mark(one: Stored, uses: int, text: str, entered: set[tuple[int, int]]) -> Stored:
    if uses > 1:
        note = f"{uses} entries share this place; coalesce() adds them up"
        return msgspec.structs.replace(one, mark="duplicate", note=note)
    if text not in ZEROS:
        return one
    if (one.row, one.column) in entered:
        return msgspec.structs.replace(one, mark="stored_zero", note="a zero that takes a place like any value")
    return msgspec.structs.replace(one, mark="padding", note="a zero that fills up its block")
