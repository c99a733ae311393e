"""A tensor of any number of dims as one panel of cells: the last two as rows and columns, the others as blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.figures.broadcasting_sizes import indices
from engine.figures.cells import Panel


def axes_panel(
    key: str,
    title: str,
    shape: tuple[int, ...],
    owns: Sequence[int],
    *,
    axes: Sequence[str] = (),
    caption: str = "",
    reads: Sequence[tuple[int, ...]] = (),
    shades: Sequence[float] = (),
    marks: Sequence[str] = (),
    values: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Panel:
    """A panel whose labels are indices, named by `axes` as in "i=0"; what is given per cell is in row-major order."""
    named = tuple(f"{axis}=" for axis in axes) or ("",) * len(shape)
    labels = [tuple(f"{name}{n}" for n in range(size)) for name, size in zip(named, shape, strict=True)]
    outer = shape[:-2] if len(shape) > 2 else ()
    has_blocks = bool(outer) and math.prod(shape) > 0
    return Panel(
        key=key,
        title=title,
        caption=caption if math.prod(shape) else "a size of 0: there is nothing to draw",
        columns=max(shape[-1], 1) if shape else 1,
        owns=tuple(owns),
        reads=tuple(reads),
        shades=tuple(shades),
        marks=tuple(marks),
        values=tuple(values),
        words=tuple(words),
        row_labels=labels[-2] if len(shape) > 1 and owns else (),
        column_labels=labels[-1] if shape and owns else (),
        block_rows=shape[-2] if has_blocks else 0,
        block_columns=shape[-3] if has_blocks else 0,
        block_labels=tuple(_block_label(index, named) for index in indices(outer)) if has_blocks else (),
    )


def _block_label(index: Sequence[int], named: Sequence[str]) -> str:
    inside = ", ".join(f"{name}{position}" for name, position in zip(named, index, strict=False))
    return f"[{inside}, :, :]"
