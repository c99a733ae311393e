"""Rectangles of given areas that fill a rectangle and are as square as they can be (Bruls, Huizing, van Wijk 2000)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Rectangle(msgspec.Struct, frozen=True):
    """Left and upper edge, width and height, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, top: float = 0.0, edge: float = 0.0) -> Rectangle:
        """What is left without `top` pixels above and `edge` pixels around."""
        width, height = max(0.0, self.width - 2 * edge), max(0.0, self.height - top - 2 * edge)
        return Rectangle(self.x + edge, self.y + top + edge, width, height)


def squarify(areas: Sequence[float], room: Rectangle) -> list[Rectangle]:
    """One rectangle per area, in the order given (largest first gives the squarest); together they fill `room`.

    Areas are shares: only their ratios count. An area of 0 gets a rectangle without area.
    """
    total = sum(areas)
    if not total or not room.width or not room.height:
        return [Rectangle(room.x, room.y, 0.0, 0.0) for _ in areas]
    scale = room.width * room.height / total
    found: list[Rectangle] = []
    row: list[float] = []
    for area in (scale * one for one in areas):
        side = min(room.width, room.height)
        if row and _worst([*row, area], side) > _worst(row, side):
            placed, room = _row(row, room)
            found += placed
            row = []
        row.append(area)
    return found + _row(row, room)[0]


def _worst(row: Sequence[float], side: float) -> float:
    """Longer side over shorter side of the least square rectangle of a row laid along `side`."""
    total, smallest = sum(row), min(row)
    if not smallest or not side:
        return float("inf")
    return max(side * side * max(row) / total**2, total**2 / (side * side * smallest))


def _row(row: Sequence[float], room: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """The rectangles of a row along the shorter side, and the room that is left."""
    total, found = sum(row), []
    if room.width >= room.height:
        thick = total / room.height if room.height else 0.0
        y = room.y
        for area in row:
            height = area / thick if thick else 0.0
            found.append(Rectangle(room.x, y, thick, height))
            y += height
        return found, Rectangle(room.x + thick, room.y, max(0.0, room.width - thick), room.height)
    thick = total / room.width if room.width else 0.0
    x = room.x
    for area in row:
        width = area / thick if thick else 0.0
        found.append(Rectangle(x, room.y, width, thick))
        x += width
    return found, Rectangle(room.x, room.y + thick, room.width, max(0.0, room.height - thick))
