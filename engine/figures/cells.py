"""Linked cells: panels of cells that know each other, so that pointing at one lights up what it shares or reads."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from engine.figures.cells_encoding import encode_cells
from engine.figures.palette import PALETTE

__all__ = ["CellScene", "Panel", "encode_cells", "find_panel"]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """A grid of cells, row-major, `columns` wide; the last row may be short. A single row wraps to the width.

    Every per-cell tuple is parallel to `owns` or empty. Cells with the same id in `owns` (in any panel) are one thing
    and light up together; -1 stands for none. Pointing at a cell also lights up the ids in its `reads`, and the cells
    that read its id. `shades` (0..1 on the sequential scale, nan for none) colour it, `marks` (a key of the palette, ""
    for none) give it a meaning, `values` are written into it where they fit, `words` are its tooltip, lines by "\\n".
    ValueError names the panel and what does not fit together.
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
    """One per row, or one per row of a block when every block has the same."""
    column_labels: tuple[str, ...] = ()
    block_rows: int = 0
    """Rows per block (an outer index of a tensor with more than two dimensions); 0 is one block."""
    block_labels: tuple[str, ...] = ()
    block_columns: int = 0
    """Blocks beside each other where there is room (the size of the innermost outer dimension); 0 is as many as fit."""
    tick_every: int = 0
    """A line after so many cells (a cache line of 64 bytes); 0 is none."""
    path: bool = False
    """Offer to draw the cells' order of ids as a path."""

    def __post_init__(self) -> None:
        complaint = _complaint(self)
        if complaint:
            raise ValueError(f"Panel {self.key!r}: {complaint}.")

    @property
    def rows(self) -> int:
        return -(-len(self.owns) // self.columns)

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.block_rows) if self.block_rows else 1

    @property
    def is_strip(self) -> bool:
        """A single row: it wraps to the width instead of being cut."""
        return self.rows == 1 and not self.block_rows


class CellScene(msgspec.Struct, frozen=True, kw_only=True):
    """Panels in rows from top to bottom; `legend` has the palette keys of the marks that occur (found when empty).

    ValueError when a panel stands in no row, in two, or two panels share a key.
    """

    panels: tuple[Panel, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    """Keys of the panels that stand beside each other where there is room; empty: one panel per row."""
    legend: tuple[str, ...] = ()
    scale: tuple[str, str] = ("first address", "last address")
    """Words at both ends of the sequential scale."""
    tick_words: str = "64-byte cache line"
    """What `tick_every` counts."""

    def __post_init__(self) -> None:
        keys = [panel.key for panel in self.panels]
        placed = [key for row in self.rows for key in row]
        if len(set(keys)) != len(keys):
            raise ValueError(f"Every panel needs a key of its own; received {keys}.")
        if self.rows and sorted(placed) != sorted(keys):
            raise ValueError(f"Every panel stands in exactly one row: panels {keys}, rows name {placed}.")
        unknown = [key for key in self.legend if key not in PALETTE]
        if unknown:
            raise ValueError(f"The legend names {unknown}, which the palette does not have.")

    @property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """`rows` as numbers of panels."""
        number = {panel.key: index for index, panel in enumerate(self.panels)}
        if not self.rows:
            return tuple((index,) for index in number.values())
        return tuple(tuple(number[key] for key in row) for row in self.rows)

    @property
    def marks(self) -> tuple[str, ...]:
        """Palette keys of the legend: as asked for, then others that occur."""
        occurring = dict.fromkeys(mark for panel in self.panels for mark in panel.marks if mark)
        return tuple(dict.fromkeys((*self.legend, *occurring)))

    @property
    def has_shades(self) -> bool:
        return any(not math.isnan(shade) for panel in self.panels for shade in panel.shades)


def find_panel(scene: CellScene, key: str) -> Panel | None:
    """The panel called `key`, None without one."""
    return next((panel for panel in scene.panels if panel.key == key), None)


def _complaint(panel: Panel) -> str:
    if not panel.key:
        return "the key must not be empty"
    if panel.columns < 1 or min(panel.block_rows, panel.block_columns, panel.tick_every) < 0:
        return f"columns must be at least 1 and no count negative; received columns={panel.columns}"
    for name in ("reads", "shades", "marks", "values", "words"):
        found = len(getattr(panel, name))
        if found not in (0, len(panel.owns)):
            return f"`{name}` has {found} entries for {len(panel.owns)} cells; give one per cell or none"
    return _wrong_content(panel.owns, panel.shades, panel.marks) or _wrong_labels(panel)


def _wrong_content(owns: Sequence[int], shades: Sequence[float], marks: Sequence[str]) -> str:
    if owns and min(owns) < -1:
        return f"ids start at 0, -1 is none; received {min(owns)}"
    outside = next((shade for shade in shades if not (math.isnan(shade) or 0.0 <= shade <= 1.0)), None)
    if outside is not None:
        return f"shades lie in 0..1 or are nan; received {outside}"
    unknown = next((mark for mark in set(marks) if mark and mark not in PALETTE), None)
    return "" if unknown is None else f"the palette has no mark {unknown!r}"


def _wrong_labels(panel: Panel) -> str:
    for name, allowed in (
        ("row_labels", {0, panel.rows, panel.block_rows}),
        ("column_labels", {0, min(panel.columns, max(1, len(panel.owns))), panel.columns}),
        ("block_labels", {0, panel.blocks}),
    ):
        found = len(getattr(panel, name))
        if found not in allowed:
            return f"`{name}` has {found} entries, expected one of {sorted(allowed)}"
    return ""
