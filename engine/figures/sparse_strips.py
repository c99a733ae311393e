"""Arrays of sparse tensors side by side: before and after coalesce, before and after an edit, lookups and gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.figures.cells import CellScene, Panel
from engine.figures.units import format_bytes, format_shape
from engine.sparse.results import Coalesce, EmbeddingGrad, LayoutArrays, Member, SparseTrace, Violation


def coalesce_scene(trace: SparseTrace, coalesce: Coalesce) -> CellScene:
    """Raw entries above, coalesced entries below; entries of one place are one colour and light up together."""
    panels = [
        *_coo_strips(trace, coalesce.before, "raw", "before"),
        *_coo_strips(trace, coalesce.after, "coalesced", "after"),
    ]
    beside = tuple(
        tuple(panel.key for panel in panels if panel.key.endswith(end)) for end in (".rows", ".columns", ".values")
    )
    return CellScene(panels=tuple(panels), rows=beside, scale=("first row", "last row"))


def _coo_strips(trace: SparseTrace, arrays: LayoutArrays, key: str, when: str) -> list[Panel]:
    if arrays.error is not None:
        return []
    indices, values = arrays.members
    nnz = indices.shape[1]
    places = list(zip(indices.numbers[:nnz], indices.numbers[nnz:], strict=True))
    uses = {place: places.count(place) for place in set(places)}
    common = {
        "columns": max(nnz, 1),
        "owns": tuple(row * trace.shape[1] + column for row, column in places),
        "shades": tuple(row / max(trace.shape[0] - 1, 1) for row, _ in places),
        "marks": tuple("duplicate" if uses[place] > 1 else "" for place in places),
    }
    rows, columns = (tuple(map(str, part)) for part in (indices.numbers[:nnz], indices.numbers[nnz:]))
    words = tuple(f"entry {k} {when} coalesce(): row {r}, column {c}" for k, (r, c) in enumerate(places))
    title = f"{when} coalesce(): nnz {nnz}, {format_bytes(arrays.bytes)}"
    return [
        Panel(key=f"{key}.rows", title=f"{title} · indices[0]: row", values=rows, words=words, **common),  # type: ignore[arg-type]
        Panel(key=f"{key}.columns", title="indices[1]: column", values=columns, words=words, **common),  # type: ignore[arg-type]
        Panel(key=f"{key}.values", title="values", values=values.texts, words=words, **common),  # type: ignore[arg-type]
    ]


def violation_scene(violation: Violation) -> CellScene:
    """The array that was broken, before and after; edited cells are marked."""
    members = [(when, member) for when, member in (("sound", violation.before), ("broken", violation.after)) if member]
    return CellScene(
        panels=tuple(
            _edited_panel(when, member, violation.changed if when == "broken" else ()) for when, member in members
        )
    )


def _edited_panel(when: str, member: Member, changed: Sequence[int]) -> Panel:
    values = tuple(map(str, member.numbers)) or member.texts
    is_block = len(member.shape) == 3
    width = member.shape[-1] if len(member.shape) > 1 and member.shape[-1] > 1 else max(len(values), 1)
    return Panel(
        key=when,
        title=f"{when}: {member.name}, {format_shape(member.shape)} {member.dtype}",
        columns=width,
        owns=tuple(range(len(values))),
        marks=tuple("edited" if i in set(changed) else "" for i in range(len(values))),
        values=values,
        words=tuple(f"{member.name}, position {i}: {value}" for i, value in enumerate(values)),
        row_labels=("row", "column") if member.name == "indices" and len(member.shape) == 2 else (),
        block_rows=member.shape[1] if is_block else 0,
    )


def embedding_scene(found: EmbeddingGrad) -> CellScene:
    """Every lookup with the row it read, and the rows of the gradient that they were added up into."""
    last = max(found.merged_indices, default=0) or 1
    uses = dict(found.row_sums)
    return CellScene(
        panels=(
            _rows("lookups", f"raw indices: one entry per lookup, nnz {found.nnz}", found.raw_indices, last, uses),
            _rows("raw", "raw values (first column)", found.raw_indices, last, uses, found.raw_values),
            _rows("rows", f"after coalesce(): nnz {found.nnz_coalesced}", found.merged_indices, last, {}),
            _rows("sums", "values (first column), added up", found.merged_indices, last, {}, found.merged_values),
        ),
        rows=(("lookups", "rows"), ("raw", "sums")),
        scale=("row 0", f"row {last}"),
    )


def _rows(
    key: str, title: str, rows: Sequence[int], last: int, uses: dict[int, int], values: Sequence[str] = ()
) -> Panel:
    return Panel(
        key=key,
        title=title,
        columns=max(len(rows), 1),
        owns=tuple(rows),
        shades=tuple(row / last if last else math.nan for row in rows),
        marks=tuple("duplicate" if uses.get(row, 1) > 1 else "" for row in rows),
        values=tuple(values) or tuple(map(str, rows)),
        words=tuple(f"entry {k}: row {row} of the weight" for k, row in enumerate(rows)),
    )
