"""Room for words along the wires of a scene: beside no box, no border of a frame, no wire and no other words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.figures.scene import Box, Scene, Wire

HEIGHT = 14.0
LETTER = 6.2
"""Mean width of a letter at 10 pixels; what the words need is a little less."""
SHARES = (0.5, 0.36, 0.64, 0.2, 0.8)
OFFSETS = ((4, 0), (-4, 0), (4, -9), (-4, -9), (4, 9), (-4, 9), (13, 0), (-13, 0))
"""Where words may stand beside a point of their wire: pixels to the right (left of it where negative) and down."""
TITLE = 34.0
MARGIN = 40.0
FINEST, MOST_CELLS = 3.0, 8e6
"""What is taken is kept as a bitmap: pixels per cell, coarser for pictures that would need more cells."""

Points = npt.NDArray[np.float64]


class Place(NamedTuple):
    """Words with their top left corner and width."""

    text: str
    x: float
    y: float
    width: float


def place_labels(scene: Scene) -> list[Place]:
    """A place for the shape on each wire that has room; a tensor that many read is told once."""
    taken = _Taken(scene)
    found: list[Place] = []
    told: set[tuple[int, str, str]] = set()
    for wire in scene.wires:
        tensor = (wire.source, wire.outputs, wire.label)
        if wire.label and tensor not in told and (place := next(filter(taken.has_room, _tries(wire)), None)):
            taken.fill(place.x, place.y, place.x + place.width, place.y + HEIGHT)
            told.add(tensor)
            found.append(place)
    return found


def curve_points(curve: Sequence[float], apart: float) -> Points:
    """Points (n, 2) of a chain of cubic curves, at most about `apart` pixels from one to the next."""
    flat = np.asarray(curve, np.float64).reshape(-1, 2)
    pieces = np.stack([flat[i : i + 4] for i in range(0, len(flat) - 3, 3)])  # (pieces, 4, 2)
    lengths = np.linalg.norm(np.diff(pieces, axis=1), axis=2).sum(axis=1)
    steps = np.maximum(1, np.ceil(lengths / apart)).astype(int)
    which = np.repeat(np.arange(len(pieces)), steps + 1)
    starts = np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    t = ((np.arange(len(which)) - starts) / steps[which])[:, None]
    u = 1.0 - t
    a, b, c, d = (pieces[which, i] for i in range(4))
    return np.asarray(u**3 * a + 3 * u**2 * t * b + 3 * u * t**2 * c + t**3 * d, np.float64)


def _tries(wire: Wire) -> Iterator[Place]:
    along = curve_points(wire.curve, 8.0)
    width = LETTER * len(wire.label) + 4
    for share in SHARES:
        x, y = map(float, along[round(share * (len(along) - 1))])
        for across, down in OFFSETS:
            yield Place(wire.label, x + across - (width if across < 0 else 0), y + down - HEIGHT / 2, width)


class _Taken:
    """Which parts of the picture hold something, as a bitmap with a margin around it."""

    def __init__(self, scene: Scene) -> None:
        width, height = scene.width + 2 * MARGIN, scene.height + 2 * MARGIN
        self._pixels = max(FINEST, math.sqrt(width * height / MOST_CELLS))
        self._cells = np.zeros([math.ceil(side / self._pixels) + 1 for side in (height, width)], np.bool_)
        for box in scene.boxes:
            for sides in (
                _sides(box) if box.role == "frame" else ((box.x, box.y, box.x + box.width, box.y + box.height),)
            ):
                self.fill(*sides)
        for wire in scene.wires:
            columns, rows = self._cell(curve_points(wire.curve, 0.6 * self._pixels)).T
            self._cells[rows, columns] = True

    def _cell(self, points: Points) -> npt.NDArray[np.int64]:
        rows, columns = self._cells.shape
        return np.clip((points + MARGIN) // self._pixels, 0, (columns - 1, rows - 1)).astype(np.int64)

    def _part(self, left: float, top: float, right: float, bottom: float) -> npt.NDArray[np.bool_]:
        (x0, y0), (x1, y1) = self._cell(np.array([(left, top), (right, bottom)])).tolist()
        return self._cells[y0 : y1 + 1, x0 : x1 + 1]

    def fill(self, left: float, top: float, right: float, bottom: float) -> None:
        """Nothing else may go here."""
        self._part(left, top, right, bottom)[:] = True

    def has_room(self, place: Place) -> bool:
        """Whether nothing is where the words would go."""
        return not self._part(place.x, place.y, place.x + place.width, place.y + HEIGHT).any()


def _sides(frame: Box) -> tuple[tuple[float, float, float, float], ...]:
    """The title bar and the borders of a frame."""
    right, bottom = frame.x + frame.width, frame.y + frame.height
    return (
        (frame.x, frame.y, right, frame.y + TITLE),
        (frame.x, frame.y, frame.x, bottom),
        (right, frame.y, right, bottom),
        (frame.x, bottom, right, bottom),
    )
