"""A sparse matrix as linked cells: the dense picture, and below it the arrays that PyTorch keeps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from engine.figures.cells import CellScene, Panel
from engine.figures.sparse_entries import Stored, place_of, stored_entries
from engine.figures.units import format_bytes, format_shape
from engine.sparse.results import LayoutArrays, Member, SparseTrace

NOT_STORED = ("", "0", "False")
"""Texts of the dense matrix that say nothing is there."""
ROW_LAYOUTS = ("coo", "csr", "bsr")


def layout_scene(trace: SparseTrace, layouts: Sequence[str]) -> CellScene:
    """The dense matrix above the arrays of the layouts; colours run from the first row (or column) to the last.

    With one layout the dense cells carry its marks: shared places, stored zeros, padding. A layout that was refused
    has no panels.
    """
    chosen = [trace.layout(name) for name in layouts if trace.layout(name).error is None]
    stored = {layout.layout: stored_entries(trace, layout) for layout in chosen}
    first = chosen[0] if chosen else None
    panels = [_dense_panel(trace, first, stored[first.layout] if first else ())]
    rows: list[tuple[str, ...]] = [("dense",)]
    for layout in chosen:
        arrays = _array_panels(trace, layout, stored[layout.layout], len(chosen) > 1)
        panels += arrays
        rows += [tuple(panel.key for panel in arrays)] if len(chosen) > 1 else [(panel.key,) for panel in arrays]
    by_row = first is None or first.layout in ROW_LAYOUTS
    return CellScene(
        panels=tuple(panels), rows=tuple(rows), scale=("first row", "last row") if by_row else ("first column", "last")
    )


def _dense_panel(trace: SparseTrace, layout: LayoutArrays | None, stored: Sequence[Stored]) -> Panel:
    rows, columns = trace.shape
    by_cell: dict[int, list[Stored]] = {}
    for one in stored:
        by_cell.setdefault(place_of(trace, one), []).append(one)
    cells = range(rows * columns)
    texts = trace.dense.texts
    return Panel(
        key="dense",
        title=f"dense {format_shape(trace.shape)} {trace.dense.dtype}, {format_bytes(trace.dense.bytes)}",
        caption="filled cells are stored; point at one to see where",
        columns=max(columns, 1),
        owns=tuple(cells),
        shades=tuple(_shade(trace, layout, by_cell[cell][0]) if cell in by_cell else math.nan for cell in cells),
        marks=tuple(by_cell[cell][0].mark if cell in by_cell else "" for cell in cells),
        values=tuple(_dense_text(texts[cell], by_cell.get(cell, [])) for cell in cells),
        words=tuple(_dense_words(trace, cell, by_cell.get(cell, [])) for cell in cells),
        row_labels=tuple(map(str, range(rows))) if columns else (),
        column_labels=tuple(map(str, range(columns))) if rows else (),
    )


def _dense_text(text: str, stored: Sequence[Stored]) -> str:
    """Zeros are written only where they are stored entries of their own."""
    is_entry = any(one.mark != "padding" for one in stored)
    return text if is_entry or text not in NOT_STORED else ""


def _dense_words(trace: SparseTrace, cell: int, stored: Sequence[Stored]) -> str:
    row, column = divmod(cell, trace.shape[1])
    where = f"row {row}, column {column}: {trace.dense.texts[cell]}"
    if not stored:
        return f"{where}\nnot stored"
    kept = ", ".join(one.address for one in stored)
    return f"{where}\nstored at {kept}" + (f"\n{stored[0].note}" if stored[0].note else "")


def _shade(trace: SparseTrace, layout: LayoutArrays | None, one: Stored) -> float:
    """Its row or column from first to last; padding stays pale, so that the entries stand out."""
    return math.nan if one.mark == "padding" else _position(trace, layout, one)


def _position(trace: SparseTrace, layout: LayoutArrays | None, one: Stored) -> float:
    by_row = layout is None or layout.layout in ROW_LAYOUTS
    whole = trace.shape[0 if by_row else 1]
    return (one.row if by_row else one.column) / max(whole - 1, 1)


def _array_panels(trace: SparseTrace, layout: LayoutArrays, stored: Sequence[Stored], several: bool) -> list[Panel]:
    name = f"{layout.layout.upper()} " if several else ""
    if layout.layout == "coo":
        return _coo_panels(trace, layout, stored, name)
    pointers, plain, values = layout.members
    is_block = layout.layout in ("bsr", "bsc")
    return [
        _pointer_panel(trace, layout, pointers, stored, name),
        _block_index_panel(trace, layout, plain, stored, name)
        if is_block
        else _index_panel(trace, layout, plain, stored, name),
        _block_values_panel(trace, layout, values, stored, name)
        if is_block
        else _values_panel(trace, layout, values, stored, name),
    ]


def _title(name: str, member: Member, suffix: str = "") -> str:
    if name:
        return f"{name}{member.name}(){suffix.partition(':')[0]}, {format_bytes(member.bytes)}"
    shape = format_shape(member.shape)
    return f"{member.name}(){suffix}, {shape} {member.dtype}, {format_bytes(member.bytes)}"


def _coo_panels(trace: SparseTrace, layout: LayoutArrays, stored: Sequence[Stored], name: str) -> list[Panel]:
    indices, values = layout.members
    nnz = indices.shape[1]
    panels = []
    for dim, what in enumerate(("row", "column")):
        numbers = indices.numbers[dim * nnz : (dim + 1) * nnz]
        words = tuple(f"indices[{dim}, {k}] = {n}: the {what} of entry {k}" for k, n in enumerate(numbers))
        title = _title(name, indices, f"[{dim}]: {what} of every entry")
        panels.append(_strip(trace, layout, f"indices[{dim}]", title, stored, tuple(map(str, numbers)), words))
    return [*panels, _values_panel(trace, layout, values, stored, name)]


def _strip(
    trace: SparseTrace,
    layout: LayoutArrays,
    key: str,
    title: str,
    stored: Sequence[Stored],
    values: tuple[str, ...],
    words: tuple[str, ...],
) -> Panel:
    """One cell per entry, in the order of the array."""
    return Panel(
        key=f"{layout.layout}.{key}",
        title=title,
        columns=max(len(stored), 1),
        owns=tuple(place_of(trace, one) for one in stored),
        shades=tuple(_shade(trace, layout, one) for one in stored),
        marks=tuple(one.mark for one in stored),
        values=values,
        words=words,
    )


def _index_panel(
    trace: SparseTrace, layout: LayoutArrays, member: Member, stored: Sequence[Stored], name: str
) -> Panel:
    what = "column" if layout.layout == "csr" else "row"
    words = tuple(f"{member.name}[{k}] = {n}: the {what} of entry {k}" for k, n in enumerate(member.numbers))
    title = _title(name, member, f": {what} of every entry")
    return _strip(trace, layout, member.name, title, stored, tuple(map(str, member.numbers)), words)


def _values_panel(
    trace: SparseTrace, layout: LayoutArrays, member: Member, stored: Sequence[Stored], name: str
) -> Panel:
    words = tuple(
        f"values[{k}] = {text}, for row {one.row}, column {one.column}" + (f"\n{one.note}" if one.note else "")
        for k, (text, one) in enumerate(zip(member.texts, stored, strict=True))
    )
    return _strip(trace, layout, "values", _title(name, member), stored, member.texts, words)


def _pointer_panel(
    trace: SparseTrace, layout: LayoutArrays, member: Member, stored: Sequence[Stored], name: str
) -> Panel:
    """Pointer i reads the whole row (or column, or row of blocks) that starts at it."""
    by_row = layout.layout in ROW_LAYOUTS
    height, width = layout.members[2].shape[1:] if layout.layout in ("bsr", "bsc") else (1, 1)
    thick = height if by_row else width
    lines, most = len(member.numbers) - 1, max(trace.shape[0 if by_row else 1] - 1, 1)
    what = ("row" if by_row else "column") + ("" if thick == 1 and height * width == 1 else " of blocks")
    return Panel(
        key=f"{layout.layout}.{member.name}",
        title=_title(name, member, f": where each {what} starts"),
        caption="" if name else f"{what} i owns entries {member.name}[i] up to, not including, {member.name}[i + 1]",
        columns=max(len(member.numbers), 1),
        owns=(-1,) * len(member.numbers),
        reads=tuple(_line(trace, by_row, i * thick, thick) if i < lines else () for i in range(lines + 1)),
        shades=(*(min(i * thick / most, 1.0) for i in range(lines)), math.nan),
        values=tuple(map(str, member.numbers)),
        words=tuple(_pointer_words(member, what, i) for i in range(lines + 1)),
    )


def _line(trace: SparseTrace, by_row: bool, start: int, thick: int) -> tuple[int, ...]:
    rows, columns = trace.shape
    if by_row:
        return tuple(range(start * columns, min(start + thick, rows) * columns))
    return tuple(row * columns + column for row in range(rows) for column in range(start, min(start + thick, columns)))


def _pointer_words(member: Member, what: str, i: int) -> str:
    here = f"{member.name}[{i}] = {member.numbers[i]}"
    if i == len(member.numbers) - 1:
        return f"{here}: the end, nnz"
    count = member.numbers[i + 1] - member.numbers[i]
    entries = "no entry" if not count else f"{count} from {member.numbers[i]} to {member.numbers[i + 1] - 1}"
    return f"{here}: {what} {i} has {entries}"


def _block_index_panel(
    trace: SparseTrace, layout: LayoutArrays, member: Member, stored: Sequence[Stored], name: str
) -> Panel:
    what = "column" if layout.layout == "bsr" else "row"
    blocks = _by_block(stored)
    cells = trace.shape[0] * trace.shape[1]
    return Panel(
        key=f"{layout.layout}.{member.name}",
        title=_title(name, member, f": block {what} of every block"),
        columns=max(len(member.numbers), 1),
        owns=tuple(cells + k for k in range(len(member.numbers))),
        reads=tuple(tuple(place_of(trace, one) for one in blocks[k]) for k in range(len(member.numbers))),
        shades=tuple(_position(trace, layout, blocks[k][0]) for k in range(len(member.numbers))),
        values=tuple(map(str, member.numbers)),
        words=tuple(
            f"{member.name}[{k}] = {n}: block {k} starts at row {blocks[k][0].row}, column {blocks[k][0].column}"
            for k, n in enumerate(member.numbers)
        ),
    )


def _by_block(stored: Sequence[Stored]) -> dict[int, list[Stored]]:
    found: dict[int, list[Stored]] = {}
    for one in stored:
        found.setdefault(one.block, []).append(one)
    return found


def _block_values_panel(
    trace: SparseTrace, layout: LayoutArrays, member: Member, stored: Sequence[Stored], name: str
) -> Panel:
    count, height, width = member.shape
    padding = Counter(one.mark for one in stored)["padding"]
    return Panel(
        key=f"{layout.layout}.values",
        title=_title(name, member),
        caption=f"{padding} of {len(stored)} stored values are padding" if stored else "",
        columns=max(width, 1),
        owns=tuple(place_of(trace, one) for one in stored),
        shades=tuple(_shade(trace, layout, one) for one in stored),
        marks=tuple(one.mark for one in stored),
        values=member.texts,
        words=tuple(
            f"values[{one.address_inside}] = {text}, for row {one.row}, column {one.column}"
            + (f"\n{one.note}" if one.note else "")
            for text, one in zip(member.texts, stored, strict=True)
        ),
        block_rows=height,
        block_labels=tuple(f"block {k}" for k in range(count)),
    )
