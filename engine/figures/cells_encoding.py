"""Linked cells as bytes for the canvas: a JSON header, then typed columns; texts of cells are read only when needed.

Layout: length of the header (4 bytes, little-endian), header, sections at offsets (from the end of the header) that
are multiples of 4. Ids are renumbered 0.. in their order.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from engine.figures.palette import ADDRESS_STEPS, MARKS, address_ramp, meaning, text_on

if TYPE_CHECKING:
    from engine.figures.cells import CellScene, Panel

NOTHING = 255
"""Stands for "no shade" and "no mark" in a column of bytes."""
ALIGNMENT = 4
_INLINE = (
    *("key", "title", "caption", "columns", "row_labels", "column_labels"),
    *("block_rows", "block_labels", "block_columns", "tick_every", "path"),
)


class _Sections:
    """Columns one after the other, each starting at a multiple of `ALIGNMENT`."""

    def __init__(self) -> None:
        self.listed: list[tuple[str, int, int, int]] = []
        self.data = bytearray()

    def add(self, name: str, panel: int, content: bytes) -> None:
        self.listed.append((name, panel, len(self.data), len(content)))
        self.data += content + bytes(-len(content) % ALIGNMENT)


def encode_cells(scene: CellScene) -> bytes:
    """The scene with the colours of both themes, as the component takes it."""
    ranks = _ranks(scene.panels)
    sections = _Sections()
    for number, panel in enumerate(scene.panels):
        _add_columns(sections, number, panel, ranks, scene.marks)
    header = msgspec.json.encode(_header(scene, len(ranks), sections.listed))
    header += b" " * (-len(header) % ALIGNMENT)
    return len(header).to_bytes(4, "little") + header + bytes(sections.data)


def read_header(encoded: bytes) -> dict[str, Any]:
    """What `encode_cells` wrote before the columns: panels with their number of `cells`, rows, colours."""
    length = int.from_bytes(encoded[:4], "little")
    header: dict[str, Any] = msgspec.json.decode(encoded[4 : 4 + length])
    return header


def _ranks(panels: Sequence[Panel]) -> dict[int, int]:
    ids = {number for panel in panels for number in panel.owns}
    ids.update(number for panel in panels for read in panel.reads for number in read)
    return {number: rank for rank, number in enumerate(sorted(ids - {-1}))} | {-1: -1}


def _header(scene: CellScene, ids: int, sections: list[tuple[str, int, int, int]]) -> dict[str, Any]:
    return {
        "panels": [
            {name: getattr(panel, name) for name in _INLINE} | {"cells": len(panel.owns)} for panel in scene.panels
        ],
        "rows": scene.lines,
        "marks": [_mark(key) for key in scene.marks],
        "ramp": {"light": address_ramp("light"), "dark": address_ramp("dark")} if scene.has_shades else None,
        "ink": {"light": _inks("light"), "dark": _inks("dark")} if scene.has_shades else None,
        "scale": scene.scale,
        "longest": max((len(value) for panel in scene.panels for value in panel.values), default=0),
        "tick_words": scene.tick_words if any(panel.tick_every for panel in scene.panels) else "",
        "ids": ids - 1,
        "sections": sections,
    }


def _inks(theme: Any) -> list[str]:
    return [text_on(fill) for fill in address_ramp(theme)]


def _mark(key: str) -> dict[str, Any]:
    what = meaning(key)
    return {
        "key": key,
        "label": what.label,
        "path": MARKS[what.mark],
        "hatched": what.hatched,
        "light": (what.light, what.fill("light")),
        "dark": (what.dark, what.fill("dark")),
    }


def _add_columns(sections: _Sections, number: int, panel: Panel, ranks: dict[int, int], marks: tuple[str, ...]) -> None:
    sections.add("owns", number, _integers(ranks[id_] for id_ in panel.owns))
    if any(panel.reads):
        starts = [0]
        for read in panel.reads:
            starts.append(starts[-1] + len(read))
        sections.add("read_starts", number, _integers(starts))
        sections.add("read_ids", number, _integers(ranks[id_] for read in panel.reads for id_ in read))
    if panel.shades:
        sections.add("shades", number, bytes(shade_step(shade) for shade in panel.shades))
    if any(panel.marks):
        places = {key: place for place, key in enumerate(marks)} | {"": NOTHING}
        sections.add("marks", number, bytes(places[mark] for mark in panel.marks))
    if any(panel.values):
        sections.add("values", number, msgspec.json.encode(panel.values))
    if any(panel.words):
        sections.add("words", number, msgspec.json.encode(panel.words))


def shade_step(shade: float) -> int:
    """Step of the ramp of addresses for 0..1, `NOTHING` for nan."""
    return NOTHING if math.isnan(shade) else min(ADDRESS_STEPS - 1, int(shade * ADDRESS_STEPS))


def _integers(values: Iterable[int]) -> bytes:
    column = array("i", values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
