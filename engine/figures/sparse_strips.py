"""Arrays of sparse tensors side by side: before and after coalesce, before and after an edit, lookups and gradient."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from engine.figures.cells import CellScene, Panel
from engine.figures.sparse_lines import Line, lines_panel
from engine.figures.units import format_bytes, format_shape
from engine.sparse.results import Coalesce, EmbeddingGrad, LayoutArrays, Member, SparseTrace, Violation


def coalesce_scene(trace: SparseTrace, coalesce: Coalesce) -> CellScene:
    """Raw entries beside coalesced ones; entries of one place are one colour and light up together."""
    made = [
        (key, arrays) for key, arrays in (("before", coalesce.before), ("after", coalesce.after)) if not arrays.error
    ]
    panels = tuple(_coo_panel(trace, arrays, key) for key, arrays in made)
    return CellScene(panels=panels, rows=(tuple(panel.key for panel in panels),), scale=("first row", "last row"))


def _coo_panel(trace: SparseTrace, arrays: LayoutArrays, when: str) -> Panel:
    indices, values = arrays.members
    nnz = indices.shape[1]
    places = list(zip(indices.numbers[:nnz], indices.numbers[nnz:], strict=True))
    uses = Counter(places)
    rows, columns = (tuple(map(str, part)) for part in (indices.numbers[:nnz], indices.numbers[nnz:]))
    lines = [
        Line(
            label=label,
            values=texts,
            owns=tuple(row * trace.shape[1] + column for row, column in places),
            words=tuple(f"entry {k} {when} coalesce(): row {r}, column {c}" for k, (r, c) in enumerate(places)),
            shades=tuple(row / max(trace.shape[0] - 1, 1) for row, _ in places),
            marks=tuple("duplicate" if uses[place] > 1 else "" for place in places),
        )
        for label, texts in (("row", rows), ("column", columns), ("value", values.texts))
    ]
    title = f"{when} coalesce(): nnz {nnz}, {format_bytes(arrays.bytes)}"
    return lines_panel(when, title, lines, "indices[0], indices[1] and values, an entry per column")


def violation_scene(violation: Violation) -> CellScene:
    """The array that was broken, before and after; edited cells are marked."""
    members = [(when, member) for when, member in (("sound", violation.before), ("broken", violation.after)) if member]
    if len(members) < 2 or any(len(member.shape) > 2 for _, member in members):
        panels = [_block_panel(when, member, violation.changed if when == "broken" else ()) for when, member in members]
        return CellScene(panels=tuple(panels))
    lines = [
        line
        for when, member in members
        for line in _edited(when, member, violation.changed if when == "broken" else ())
    ]
    shapes = " · ".join(f"{when} {format_shape(member.shape)} {member.dtype}" for when, member in members)
    return CellScene(panels=(lines_panel("arrays", f"{violation.member}: {shapes}", lines),))


def _edited(when: str, member: Member, changed: Sequence[int]) -> list[Line]:
    """A line per row of the array; a last dimension of 1 is one entry per cell."""
    texts, edited = _texts(member), set(changed)
    is_pairs = member.name == "indices" and len(member.shape) == 2
    across = member.shape[1] if is_pairs else len(texts)
    lines = []
    for number, name in enumerate(("row", "column") if is_pairs else ("",)):
        cells = range(number * across, (number + 1) * across)
        lines.append(
            Line(
                label=f"{when} {name}".strip(),
                values=tuple(texts[i] for i in cells),
                owns=tuple(cells),
                words=tuple(f"{when} {member.name}, position {i}: {texts[i]}" for i in cells),
                marks=tuple("edited" if i in edited else "" for i in cells),
            )
        )
    return lines


def _texts(member: Member) -> tuple[str, ...]:
    return tuple(map(str, member.numbers)) or member.texts


def _block_panel(when: str, member: Member, changed: Sequence[int]) -> Panel:
    values, edited = _texts(member), set(changed)
    # A dimension too many is one of size 1 at the end: the blocks before it are still what is drawn
    shape = member.shape[:3]
    height, width = (shape[1], shape[2]) if len(shape) == 3 else (0, max(len(values), 1))
    return Panel(
        key=when,
        title=f"{when}: {member.name}, {format_shape(member.shape)} {member.dtype}",
        columns=max(width, 1),
        owns=tuple(range(len(values))),
        marks=tuple("edited" if i in edited else "" for i in range(len(values))),
        values=values,
        words=tuple(f"{member.name}, position {i}: {value}" for i, value in enumerate(values)),
        block_rows=height,
    )


def embedding_scene(found: EmbeddingGrad) -> CellScene:
    """Every lookup with the row it read, beside the rows of the gradient that they were added up into."""
    last = max(found.merged_indices, default=0) or 1
    uses = dict(found.row_sums)
    raw = f"one entry per lookup, nnz {found.nnz}"
    merged = f"after coalesce(), nnz {found.nnz_coalesced}"
    return CellScene(
        panels=(
            _gradient_panel("raw", raw, found.raw_indices, found.raw_values, last, uses),
            _gradient_panel("merged", merged, found.merged_indices, found.merged_values, last, {}),
        ),
        rows=(("raw", "merged"),),
        scale=("row 0", f"row {last}"),
    )


def _gradient_panel(
    key: str, title: str, rows: Sequence[int], values: Sequence[str], last: int, uses: dict[int, int]
) -> Panel:
    lines = [
        Line(
            label=label,
            values=tuple(texts),
            owns=tuple(rows),
            words=tuple(f"entry {k}: row {row} of the weight" for k, row in enumerate(rows)),
            shades=tuple(row / last if last else math.nan for row in rows),
            marks=tuple("duplicate" if uses.get(row, 1) > 1 else "" for row in rows),
        )
        for label, texts in (("row", tuple(map(str, rows))), ("value", values))
    ]
    return lines_panel(key, title, lines, "indices[0], and values in the first column")
