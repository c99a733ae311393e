"""The main line of a level: its longest path, drawn straight, so that what comes or goes beside it moves aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.figures.level import Link

FAR_PORT = 48.0
"""Edges from or to a port further off centre bend."""
DRIFT = 80.0
"""Sideways drift over a column that is taken out."""


def spine_of(links: Sequence[Link], chains: Sequence[Sequence[int]], count: int) -> dict[int, float]:
    """x of every item and bend on the path through most items; of several such paths the one of the earliest items.

    None where that path misses more than half of the items: such a level has no main line.
    """
    behind: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        behind[link.target].append(number)
    depth, came = [0] * count, [-1] * count
    for item in range(count):
        for number in behind[item]:
            if depth[links[number].source] + 1 > depth[item]:
                depth[item], came[item] = depth[links[number].source] + 1, number
    path, item = [], max(range(count), key=lambda item: (depth[item], -item))
    if 2 * (depth[item] + 1) < count:
        return {}
    while came[item] >= 0:
        path.append(came[item])
        item = links[came[item]].source
    return _along([links[number] for number in reversed(path)], [chains[number] for number in reversed(path)], item)


def _along(links: Sequence[Link], chains: Sequence[Sequence[int]], first: int) -> dict[int, float]:
    """The path from 0 on straight down; ports off centre move the next item aside."""
    x, spine = 0.0, {first: 0.0}
    for link, chain in zip(links, chains, strict=True):
        far = abs(link.source_dx) > FAR_PORT
        leaves = x + (0.0 if far else link.source_dx)
        arrives = link.target_dx or 0.0
        x = leaves - (0.0 if abs(arrives) > FAR_PORT else arrives)
        for vertex in chain[1:-1]:
            spine[vertex] = leaves
        spine[link.target] = x
    return spine


def has_spine(rows: Sequence[Sequence[int]], spine: Mapping[int, float]) -> bool:
    """Whether most rows hold a vertex of the spine, which keeps them straight."""
    return 2 * sum(any(v in spine for v in row) for row in rows) > len(rows)


def straighten(rows: Sequence[Sequence[int]], x: list[float]) -> None:
    """Take a steady sideways drift out of a long stretch of rows; each row moves as a whole, so nothing overlaps."""
    middles = [sum(x[v] for v in row) / len(row) for row in rows]
    if len(rows) < 6:
        return
    centre, mean = (len(rows) - 1) / 2, sum(middles) / len(middles)
    spread = sum((i - centre) ** 2 for i in range(len(rows)))
    slope = sum((i - centre) * (middle - mean) for i, middle in enumerate(middles)) / spread
    if abs(slope) * len(rows) < DRIFT:
        return
    for number, row in enumerate(rows):
        for vertex in row:
            x[vertex] -= slope * (number - centre)
