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
OFFSETS = ((3, 0), (-3, 0), (3, -9), (-3, -9), (3, 9), (-3, 9), (12, 0), (-12, 0))
"""Where words may stand beside a point of their wire: pixels to the right (left of it where negative) and down."""
STARTS = (9, 18, 28, 40, 54, 70, 90, 115, 140)
"""Where an output number may stand: pixels from its producer along the wire."""
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


class Words(NamedTuple):
    """Numbers of outputs beside their producers, and shapes along the wires."""

    numbers: list[Place]
    labels: list[Place]


def place_words(scene: Scene) -> Words:
    """A place for every output number, and for the shape on each wire that has room; one tensor is told once."""
    taken = _Taken(scene)
    numbers = [taken.keep(_number(wire, scene.direction, taken)) for wire in scene.wires if wire.outputs]
    labels: list[Place] = []
    told: set[tuple[int, str, str]] = set()
    for wire in scene.wires:
        tensor = (wire.source, wire.outputs, wire.label)
        if wire.label and tensor not in told and (place := next(filter(taken.has_room, _tries(wire)), None)):
            told.add(tensor)
            labels.append(taken.keep(place))
    return Words(numbers, labels)


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
    for share in SHARES:
        point = along[round(share * (len(along) - 1))]
        yield from (_beside(wire.label, point, offset) for offset in OFFSETS)


def _number(wire: Wire, direction: str, taken: _Taken) -> Place:
    """Near the producer, where wires have parted: free of everything, or else of boxes and words."""
    along = curve_points(wire.curve, 2.0)[:: 1 if direction == "forward" else -1]
    far = np.cumsum(np.linalg.norm(np.diff(along, axis=0), axis=1))
    points = [along[min(int(np.searchsorted(far, start)), 2 * len(along) // 3)] for start in STARTS]
    places = [_beside(wire.outputs, point, offset) for point in points for offset in OFFSETS[:2]]
    free = next(filter(taken.has_room, places), None)
    return free or next((place for place in places if taken.has_room(place, beside_wires=False)), places[0])


def _beside(text: str, point: Points, offset: tuple[int, int]) -> Place:
    (x, y), (across, down), width = map(float, point), offset, LETTER * len(text) + 4
    return Place(text, x + across - (width if across < 0 else 0), y + down - HEIGHT / 2, width)


class _Taken:
    """Which parts of the picture hold something, as bitmaps with a margin around it: wires, and all the rest."""

    def __init__(self, scene: Scene) -> None:
        width, height = scene.width + 2 * MARGIN, scene.height + 2 * MARGIN
        self._pixels = max(FINEST, math.sqrt(width * height / MOST_CELLS))
        self._cells = np.zeros([math.ceil(side / self._pixels) + 1 for side in (height, width)], np.bool_)
        self._wires = np.zeros_like(self._cells)
        for box in scene.boxes:
            for sides in (
                _sides(box) if box.role == "frame" else ((box.x, box.y, box.x + box.width, box.y + box.height),)
            ):
                self.fill(*sides)
        for wire in scene.wires:
            columns, rows = self._cell(curve_points(wire.curve, 0.6 * self._pixels)).T
            self._wires[rows, columns] = True

    def _cell(self, points: Points) -> npt.NDArray[np.int64]:
        rows, columns = self._cells.shape
        return np.clip((points + MARGIN) // self._pixels, 0, (columns - 1, rows - 1)).astype(np.int64)

    def _part(self, left: float, top: float, right: float, bottom: float) -> tuple[slice, slice]:
        (x0, y0), (x1, y1) = self._cell(np.array([(left, top), (right, bottom)])).tolist()
        return slice(y0, y1 + 1), slice(x0, x1 + 1)

    def fill(self, left: float, top: float, right: float, bottom: float) -> None:
        """Nothing else may go here."""
        self._cells[self._part(left, top, right, bottom)] = True

    def keep(self, place: Place) -> Place:
        """The place, now taken."""
        self.fill(place.x, place.y, place.x + place.width, place.y + HEIGHT)
        return place

    def has_room(self, place: Place, beside_wires: bool = True) -> bool:
        """Whether nothing is where the words would go; without `beside_wires` a wire may be."""
        part = self._part(place.x, place.y, place.x + place.width, place.y + HEIGHT)
        return not (self._cells[part].any() or (beside_wires and self._wires[part].any()))


def _sides(frame: Box) -> tuple[tuple[float, float, float, float], ...]:
    """The title bar and the borders of a frame."""
    right, bottom = frame.x + frame.width, frame.y + frame.height
    return (
        (frame.x, frame.y, right, frame.y + TITLE),
        (frame.x, frame.y, frame.x, bottom),
        (right, frame.y, right, bottom),
        (frame.x, bottom, right, bottom),
    )
