"""Linked cells: panels of cells that know each other, so that pointing at one lights up what it shares or reads."""

from __future__ import annotations

import msgspec


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """A grid of cells, row-major, `columns` wide; the last row may be short.

    Every per-cell tuple is parallel to `owns` or empty. Cells with the same id in `owns` (in any panel) are one thing
    and light up together; -1 stands for none. Pointing at a cell also lights up the ids in its `reads`, and the cells
    that read its id. `shades` (0..1 on the sequential scale, nan for none) colour it, `marks` (a key of the palette, ""
    for none) give it a meaning, `values` are written into it where they fit, `words` are its tooltip.
    """

    key: str
    title: str
    caption: str = ""
    columns: int
    owns: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...] = ()
    shades: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()
    block_rows: int = 0
    """Rows per block (an outer index of a tensor with more than two dimensions); 0 is one block."""
    block_labels: tuple[str, ...] = ()
    tick_every: int = 0
    """A line after so many cells (a cache line of 64 bytes); 0 is none."""
    path: bool = False
    """Offer to draw the cells' order of ids as a path."""


class CellScene(msgspec.Struct, frozen=True, kw_only=True):
    """Panels in rows from top to bottom; `legend` has the palette keys of the marks that occur."""

    panels: tuple[Panel, ...]
    rows: tuple[tuple[str, ...], ...]
    """Keys of the panels that stand beside each other."""
    legend: tuple[str, ...] = ()
    scale: tuple[str, str] = ("first address", "last address")
    """Words at both ends of the sequential scale."""
