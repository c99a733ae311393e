"""Where the labels of marks stand, so that none lies over another label or mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LETTER, LINE = 7.2, 16.0
"""Mean width of a letter and height of a line at 12 pixels."""
MARK = 9.0
"""Half the room of a mark."""
STEPS = (-1, 1, 0, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6, -7, 7, -8, 8)


class Place(NamedTuple):
    """Offset of a label from its mark in pixels, right and down, to its left or right end in the middle of the line."""

    right: float
    down: float
    anchor: str
    """ "left": the label begins there; "right": it ends there."""


Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


def place_labels(
    marks: Sequence[tuple[float, float]],
    labels: Sequence[str],
    width: float,
    height: float,
    lines: Sequence[Box] = (),
) -> tuple[Place, ...]:
    """One place per mark, beside it where there is room, else above or below; pixels from the top left corner.

    `lines` are kept free too as long as there is another place.
    """
    taken = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in marks]
    found = []
    for (x, y), label in zip(marks, labels, strict=True):
        room = LETTER * len(label)
        tries = _tries(x, room, width)
        inside = [one for one in tries if _is_inside(_box(x, y, room, one), width, height)]
        free = [one for one in inside if not _is_over(_box(x, y, room, one), taken)]
        clear = [one for one in free if not _is_over(_box(x, y, room, one), lines)]
        place = (clear or free or tries)[0]
        found.append(place)
        taken.append(_box(x, y, room, place))
    return tuple(found)


def _tries(x: float, room: float, width: float) -> list[Place]:
    sides = ("left", "right") if x + room + 2 * MARK < width else ("right", "left")
    return [Place((MARK + 3) * (1 if s == "left" else -1), step * LINE * 0.75, s) for step in STEPS for s in sides]


def _is_inside(box: Box, width: float, height: float) -> bool:
    left, top, right, bottom = box
    return left >= 0 and top >= 0 and right <= width and bottom <= height


def _is_over(box: Box, taken: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    return any(left < r and mine < right and top < b and t < bottom for mine, t, r, b in taken)


def _box(x: float, y: float, room: float, place: Place) -> Box:
    left = x + place.right - (room if place.anchor == "right" else 0.0)
    return left, y + place.down - LINE / 2, left + room, y + place.down + LINE / 2
