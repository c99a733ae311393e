"""Places of linked cells on a sheet 1200 wide: what the canvas does for any room, here once for a file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from engine.figures.cells import CellScene, Panel

SHEET_WIDTH = 1200.0
PAD, PANEL_GAP, ROW_GAP, BLOCK_GAP = 20.0, 36.0, 24.0, 16.0
TITLE_LINE, CAPTION_LINE, LABEL_LINE = 18.0, 16.0, 16.0
CHARACTER = 6.6
"""Mean width of a character of 12 px, on the wide side."""
SIZES = ((64, 40.0), (400, 28.0), (2500, 14.0))
SMALLEST = 5.0


class Place(msgspec.Struct, frozen=True):
    """A panel on the sheet: cells of `cell_width` x `cell_height` from `left`, `top` of each block of its body."""

    panel: Panel
    x: float
    y: float
    cell_width: float
    cell_height: float
    columns: int
    block_rows: int
    blocks_across: int
    left: float
    label_top: float
    top: float
    title: tuple[str, ...]
    caption: tuple[str, ...]

    @property
    def is_wrapped(self) -> bool:
        return self.columns < self.panel.columns

    @property
    def rows(self) -> int:
        return -(-len(self.panel.owns) // self.columns)

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.block_rows)

    @property
    def body_y(self) -> float:
        return self.y + len(self.title) * TITLE_LINE + len(self.caption) * CAPTION_LINE + 6

    @property
    def block_width(self) -> float:
        return self.left + max(self.columns * self.cell_width, _name_width(self.panel))

    @property
    def block_height(self) -> float:
        return self.top + min(self.block_rows, max(1, self.rows)) * self.cell_height

    @property
    def width(self) -> float:
        body = self.blocks_across * (self.block_width + BLOCK_GAP) - BLOCK_GAP
        words = max((len(line) for line in (*self.title, *self.caption)), default=0)
        return max(body, words * CHARACTER)

    @property
    def bottom(self) -> float:
        deep = -(-self.blocks // self.blocks_across) if self.panel.owns else 1
        return self.body_y + deep * (self.block_height + BLOCK_GAP) - BLOCK_GAP

    def origin(self, block: int) -> tuple[float, float]:
        """Upper left corner of a block, labels included."""
        across, down = block % self.blocks_across, block // self.blocks_across
        return self.x + across * (self.block_width + BLOCK_GAP), self.body_y + down * (self.block_height + BLOCK_GAP)

    def cell(self, index: int) -> tuple[float, float]:
        """Upper left corner of a cell."""
        row, column = divmod(index, self.columns)
        block, line = divmod(row, self.block_rows)
        x, y = self.origin(block)
        return x + self.left + column * self.cell_width, y + self.top + line * self.cell_height


def place_panels(scene: CellScene) -> tuple[Place, ...]:
    """Rows below one another; a row too wide for the sheet goes on below."""
    longest = max((len(value) for panel in scene.panels for value in panel.values), default=0)
    aspect = 1.0 if longest <= 2 else 1.2 if longest == 3 else 1.35 if longest <= 5 else 1.7
    places: list[Place] = []
    y = PAD
    for line in scene.lines:
        x, bottom = PAD, y
        for number in line:
            place = _place(scene.panels[number], x, y, aspect, len(line))
            if x > PAD and x + place.width > SHEET_WIDTH - PAD:
                x, y = PAD, bottom + ROW_GAP
                place = msgspec.structs.replace(place, x=x, y=y)
            places.append(place)
            x += place.width + PANEL_GAP
            bottom = max(bottom, place.bottom)
        y = bottom + ROW_GAP
    return tuple(places)


def _place(panel: Panel, x: float, y: float, aspect: float, beside: int) -> Place:
    room = SHEET_WIDTH - 2 * PAD
    together = panel.block_rows * panel.columns or len(panel.owns)
    size = next((size for most, size in SIZES if max(together, len(panel.owns) // 16) <= most), SMALLEST)
    labels = max(map(len, panel.row_labels), default=0)
    left = min(120.0, labels * CHARACTER + 9) if labels else 0.0
    while not panel.is_strip and size > SMALLEST and left + panel.columns * _wide(size, aspect) > room:
        size -= 1.0
    width = _wide(size, aspect)
    columns, left = _wrapped(panel, left, width, room)
    block_rows = panel.block_rows or max(1, -(-len(panel.owns) // columns))
    fitting = max(1, int((room + BLOCK_GAP) // (left + max(columns * width, _name_width(panel)) + BLOCK_GAP)))
    named = LABEL_LINE if panel.block_labels else 0.0
    headed = LABEL_LINE if panel.column_labels and columns == panel.columns else 0.0
    characters = max(40, int(room / beside / CHARACTER))
    return Place(
        panel=panel,
        x=x,
        y=y,
        cell_width=width,
        cell_height=size,
        columns=columns,
        block_rows=block_rows,
        blocks_across=_blocks_across(panel.blocks, panel.block_columns, fitting),
        left=left,
        label_top=named,
        top=named + headed,
        title=_lines(panel.title, characters),
        caption=_lines(panel.caption, characters),
    )


def _name_width(panel: Panel) -> float:
    """A block is at least as wide as its label."""
    return max(map(len, panel.block_labels), default=0) * CHARACTER


def _blocks_across(blocks: int, group: int, fitting: int) -> int:
    """Blocks in a line: whole groups of the innermost outer dimension, as many as fit."""
    if not group or group >= blocks or group > fitting:
        return max(1, min(group or blocks, blocks, fitting))
    return group * min(fitting // group, -(-blocks // group))


def _wide(size: float, aspect: float) -> float:
    return round(size * aspect) if size >= 19 else size


def _wrapped(panel: Panel, left: float, width: float, room: float) -> tuple[int, float]:
    """Columns of a strip that is cut into lines, whole cache lines where possible; and the room for their numbers."""
    if not panel.is_strip or left + panel.columns * width <= room:
        return panel.columns, left
    left = len(line_label(panel, len(panel.owns) - 1)) * CHARACTER + 9
    columns = max(1, int((room - left) // width))
    if 0 < panel.tick_every <= columns:
        columns -= columns % panel.tick_every
    return columns, left


def line_label(panel: Panel, index: int) -> str:
    """What stands before a line of a wrapped strip that starts with this cell."""
    return panel.column_labels[index] if panel.column_labels else str(index)


def _lines(text: str, characters: int) -> tuple[str, ...]:
    return tuple(line for part in text.split("\n") for line in textwrap.wrap(part, characters))


def sheet_size(places: Sequence[Place]) -> tuple[float, float]:
    """Width and height that hold every panel."""
    width = max((place.x + place.width + PAD for place in places), default=0.0)
    return max(SHEET_WIDTH, width), max((place.bottom for place in places), default=PAD) + PAD
