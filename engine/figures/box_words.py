"""The words of one box as they are shown, and the room they take."""

from __future__ import annotations

import msgspec

TITLE, DIGIT, SMALL = 8.2, 9.4, 6.6
"""Mean width in pixels at zoom 1 of a letter and a digit in a title, and of a letter in small print and markers."""
MINIMUM, MAXIMUM = 96.0, 250.0
MARKERS = 4
"""Leaf markers shown in full on one box."""


class Marker(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A leaf at the box that uses it: its address, short text and owner kind."""

    address: str
    text: str
    kind: str
    tooltip: str
    width: float


class Text(msgspec.Struct, frozen=True):
    """All words of one box, and its size (width, height) at zoom 1."""

    title: str
    kind: str
    lines: tuple[str, ...]
    leaves: tuple[Marker, ...]
    saved_bytes: int
    dropped: int
    outputs: tuple[str, ...]
    empty: tuple[int, ...]
    tooltip: tuple[str, ...]
    size: tuple[float, float]


def size_for(title: str, lines: list[str], leaves: tuple[Marker, ...], outputs: tuple[str, ...]) -> tuple[float, float]:
    """Width and height that hold the words, within limits; the canvas shortens what still does not fit."""
    widest = max([title_room(title) + 34, *(SMALL * len(line) + 22 for line in lines)])
    widest = max(widest, max((leaf.width for leaf in leaves[:MARKERS]), default=0.0) + 16)
    widest = max(widest, SMALL * len(", ".join(outputs)) + 44 if outputs else 0.0)
    width = min(MAXIMUM, max(MINIMUM, widest))
    rows = marker_rows(leaves, width - 16)
    return round(width), 26.0 + 15 * len(lines) + 19 * rows + (3 if rows else 0) + (17 if outputs else 0) + 4


def title_room(title: str) -> float:
    """Pixels the letters of a title need."""
    return TITLE * len(title) + (DIGIT - TITLE) * sum(map(str.isdigit, title))


def room_for(text: str) -> int:
    """Pixels a marker needs for all of `text`: its mark and its letters, which few and wide ones make count."""
    return round(
        24 + sum(10 if c in "mwMW@%" else 8 if c.isupper() else 12 if ord(c) > 0x2E80 else SMALL for c in text)
    )


def marker_rows(leaves: tuple[Marker, ...], room: float) -> int:
    """Rows the markers take when set like words."""
    rows, cursor = 0, room + 1
    for leaf in leaves[:MARKERS]:
        width = min(room, leaf.width)
        if cursor + width > room:
            rows, cursor = rows + 1, 0.0
        cursor += width + 4
    return rows + (1 if len(leaves) > MARKERS else 0)
