"""A storage as a strip of cells: what reads each of them, gaps, overlaps, and the ends of cache lines.

A cell is as large as the smallest element that any chosen tensor reads here; larger elements cover several cells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

import msgspec

from engine.figures.cells import Panel
from engine.figures.cells_sampling import Sample, count_reads
from engine.figures.units import format_count
from engine.storage.addresses import CACHE_LINE_BYTES
from engine.storage.spec import Layout, StorageContents

COUNTED_CELLS = 262_144
"""Above this many cells reads are only counted among what is drawn."""
NAMED_READERS = 6


class Tensor(msgspec.Struct, frozen=True):
    """A chosen tensor: what of it is drawn, and the storage element each drawn index reads."""

    key: str
    name: str
    layout: Layout
    sample: Sample
    indices: tuple[tuple[int, ...], ...]
    elements: tuple[int, ...]

    def label(self, number: int) -> str:
        """The drawn index as Python would write it: x[1, 2]; a 0-dim tensor has only its name."""
        index = self.indices[number]
        return f"{self.name}[{', '.join(map(str, index))}]" if index else self.name


class Strip(msgspec.Struct, frozen=True, dict=True):
    """A storage in cells of `unit_bytes`; ids of its cells start at `first_id`, the last tensor's gaps are shown."""

    storage_id: int
    storage_bytes: int
    unit_bytes: int
    contents: StorageContents | None
    tensors: tuple[Tensor, ...]
    first_id: int

    @property
    def units(self) -> int:
        return -(-self.storage_bytes // self.unit_bytes)

    @property
    def values(self) -> tuple[str, ...]:
        """One text per cell where a cell is one element of the storage's own dtype, else nothing."""
        found = self.contents
        return found.values if found is not None and found.itemsize == self.unit_bytes else ()

    @cached_property
    def counts(self) -> dict[str, list[int]]:
        """Per tensor and cell, how many indices read it; empty when the storage is too large to count."""
        if self.units > COUNTED_CELLS:
            return {}
        return {tensor.key: self._count(tensor) for tensor in self.tensors}

    def _count(self, tensor: Tensor) -> list[int]:
        layout = tensor.layout
        per = layout.itemsize // self.unit_bytes
        stride = tuple(step * per for step in layout.stride or ())
        start = min((layout.storage_offset or 0) * per, max(0, self.units - 1))
        return count_reads((*layout.shape, per), (*stride, 1), start, self.units)

    @cached_property
    def readers(self) -> dict[int, list[tuple[Tensor, int]]]:
        """Drawn indices that read each cell."""
        found: dict[int, list[tuple[Tensor, int]]] = defaultdict(list)
        for tensor in self.tensors:
            per = tensor.layout.itemsize // self.unit_bytes
            for number, element in enumerate(tensor.elements):
                for unit in range(element * per, (element + 1) * per):
                    found[unit].append((tensor, number))
        return found

    def values_of(self, tensor: Tensor) -> tuple[str, ...]:
        """Texts of the drawn elements, where the storage was recorded in the tensor's dtype."""
        found = self.contents
        if found is None or found.dtype != tensor.layout.dtype or not found.values:
            return ()
        return tuple(found.values[element] for element in tensor.elements)

    def cell_words(self, tensor: Tensor) -> Iterator[str]:
        """For every drawn index: its name, element, bytes and value."""
        size = tensor.layout.itemsize
        values = self.values_of(tensor)
        lazily = " (read as its conjugate)" if tensor.layout.is_conj else ""
        lazily += " (read as its negative)" if tensor.layout.is_neg else ""
        for number, element in enumerate(tensor.elements):
            value = f" · value {values[number]}{lazily}" if values else ""
            yield f"{tensor.label(number)} · element {element} · {byte_range(element * size, size, self)}{value}"

    def reads_of(self, unit: int) -> int:
        """How many indices of all chosen tensors read the cell, as far as they are counted."""
        if self.counts:
            return sum(counts[unit] for counts in self.counts.values())
        return len(self.readers.get(unit, ()))

    def mark(self, unit: int) -> str:
        """Whether the last chosen tensor leaves the cell out or reads it several times, where that is known."""
        last = self.tensors[-1]
        if self.counts:
            reads = self.counts[last.key][unit]
        else:
            reads = sum(tensor is last for tensor, _ in self.readers.get(unit, ()))
        known = bool(self.counts) or not last.sample.words
        return "overlap" if reads > 1 else "gap" if known and not reads else ""

    def place(self, unit: int) -> str:
        """Where a cell lies: "element 8 · byte 32", or within which element when cells are smaller than those."""
        start = unit * self.unit_bytes
        if self.contents is None or self.contents.itemsize == self.unit_bytes:
            return f"element {unit} · byte {start}"
        where = f"byte {start}" if self.unit_bytes == 1 else f"bytes {start} to {start + self.unit_bytes - 1}"
        return f"{where} · in element {start // self.contents.itemsize} ({self.contents.dtype})"


def byte_range(start: int, size: int, strip: Strip) -> str:
    """ "byte 32", or "bytes 32 to 39" for an element that covers several cells."""
    return f"byte {start}" if size == strip.unit_bytes else f"bytes {start} to {start + size - 1}"


def strip_panel(strip: Strip, maximum_cells: int) -> Panel:
    """The strip as a panel; beyond `maximum_cells` only the cells that drawn indices read."""
    units = range(strip.units) if strip.units <= maximum_cells else sorted(strip.readers)[:maximum_cells]
    complete = len(units) == strip.units
    last = max(1, strip.units - 1)
    marks = tuple(strip.mark(unit) for unit in units)
    values = strip.values
    return Panel(
        key=f"storage {strip.storage_id}",
        title=f"storage {strip.storage_id} · {format_count(strip.storage_bytes)} bytes",
        caption=_caption(strip, len(units), marks),
        columns=max(1, len(units)),
        owns=tuple(strip.first_id + unit for unit in units),
        shades=tuple(unit / last for unit in units),
        marks=marks if any(marks) else (),
        values=tuple(values[unit] for unit in units) if values else (),
        words=tuple(_words(strip, unit) for unit in units),
        column_labels=tuple(map(str, units)),
        tick_every=CACHE_LINE_BYTES // strip.unit_bytes if complete else 0,
    )


def _words(strip: Strip, unit: int) -> str:
    value = f" · value {strip.values[unit]}" if strip.values else ""
    where = f"{strip.place(unit)}{value}"
    named = [tensor.label(number) for tensor, number in strip.readers.get(unit, ())[:NAMED_READERS]]
    reads = strip.reads_of(unit)
    if not reads:
        return f"{where}\nread by no index of {', '.join(tensor.name for tensor in strip.tensors)}"
    more = f" and {format_count(reads - len(named))} more" if named and reads > len(named) else ""
    count = f"{format_count(reads)} {'index' if reads == 1 else 'indices'}"
    return f"{where}\nread by {', '.join(named)}{more} ({count})" if named else f"{where}\nread by {count}, none drawn"


def _caption(strip: Strip, shown: int, marks: tuple[str, ...]) -> str:
    last = strip.tensors[-1].name
    dtype = strip.contents.dtype if strip.contents and strip.contents.itemsize == strip.unit_bytes else ""
    cell, byte = "cell" if strip.units == 1 else "cells", "byte" if strip.unit_bytes == 1 else "bytes"
    cells = f"{format_count(strip.units)} {cell} of {strip.unit_bytes} {byte}"
    parts = [f"{cells} ({dtype})" if dtype else f"{cells}, the smallest element read here"]
    if shown < strip.units:
        left = format_count(strip.units - shown)
        parts.append(
            f"showing {format_count(shown)} that drawn indices read; {left} others lie between and around them"
        )
    for mark, said in (("gap", f"not read by {last}"), ("overlap", f"read more than once by {last}")):
        if marks.count(mark):
            parts.append(f"{format_count(marks.count(mark))} {said}")
    return " · ".join(parts) if shown else "0 bytes: nothing was allocated."
