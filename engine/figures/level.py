"""One level of a drawing: what goes in (items, links, ports) and what comes out (positions, curves)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

GAP_X = 22.0
GAP_Y = 22.0
LANE = 9.0
"""Distance between parallel edges that change column."""

Curve = tuple[float, ...]
"""x0, y0, then cubic Bezier segments: c1x, c1y, c2x, c2y, x, y each."""


class OutOfTime(Exception):
    """A layout was not done inside its limit."""


class Link(msgspec.Struct, frozen=True):
    """An edge between items `source` < `target`; `source_dx` is the offset of its start from the item's centre.

    Links of one `bundle` have the same source, or the same target, and share their way over the layers between.
    """

    source: int
    target: int
    source_dx: float = 0.0
    target_dx: float | None = None
    bundle: int = 0


class Drawing(msgspec.Struct, frozen=True):
    """Centres of the items (x, y), one curve per link, and the size of all together; origin at the top left."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    curves: tuple[Curve, ...]
    width: float
    height: float
    layers: tuple[int, ...]
    columns: int


class Level(msgspec.Struct, frozen=True):
    """What to lay out: sizes (width, height) per item, links, and which items are ports on the upper and lower rim."""

    sizes: Sequence[tuple[float, float]]
    links: Sequence[Link]
    upper: frozenset[int] = frozenset()
    lower: frozenset[int] = frozenset()
    aspect: float = 0.0
    """Wanted width / height when broken into columns; 0 leaves one column."""
