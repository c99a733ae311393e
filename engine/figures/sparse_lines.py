"""Lines of values under one another in blocks of columns, so that what belongs together stands in one column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from engine.figures.cells import Panel

T = TypeVar("T")

ACROSS = 24
"""Columns of a block; what is longer goes on in the next."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of cells: its label, and per cell what a Panel holds; shorter lines end in empty cells."""

    label: str
    values: tuple[str, ...]
    owns: tuple[int, ...]
    words: tuple[str, ...]
    shades: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()


def lines_panel(key: str, title: str, lines: Sequence[Line], caption: str = "") -> Panel:
    """The lines as one panel; position k of every line stands in the same column."""
    longest = max((len(line.values) for line in lines), default=0)
    across = max(min(longest, ACROSS), 1)
    starts = range(0, max(longest, 1), across)
    cells = [(line, k) for start in starts for line in lines for k in range(start, start + across)]
    return Panel(
        key=key,
        title=title,
        caption=caption,
        columns=across,
        owns=_each(cells, "owns", -1),
        shades=_each(cells, "shades", math.nan),
        marks=_each(cells, "marks", ""),
        values=_each(cells, "values", ""),
        words=_each(cells, "words", ""),
        row_labels=tuple(line.label for line in lines),
        block_rows=len(lines),
        block_labels=tuple(f"from {start}" for start in starts) if len(starts) > 1 else (),
    )


def _each(cells: Sequence[tuple[Line, int]], name: str, empty: T) -> tuple[T, ...]:
    found = ((getattr(line, name), k) for line, k in cells)
    return tuple(values[k] if k < len(values) else empty for values, k in found)
