"""One level of a layered drawing: layers by longest path, order by barycentre, positions by isotonic regression.

Items are numbered in forward order, so every edge goes from a lower to a higher number and no cycle can occur. Long
chains are broken into columns, read like a page: down, then on to the next. Deterministic, no recursion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.figures.columns import break_columns, draw_curves
from engine.figures.layering import assign_layers
from engine.figures.level import GAP_X, Drawing, Level
from engine.figures.ordering import Near, order_rows
from engine.figures.spine import FAR_PORT, spine_of

DUMMY = 12.0
"""Room a passing edge keeps to its neighbours."""
PINNED = 1e6
"""How much the place of a vertex of the spine counts: it stays where it is, and others make room."""
STEP_X = 10.0
"""Half widths are rounded up to multiples of this, so that a word more or less moves no neighbour."""
MAXIMUM_DUMMIES = 40_000
"""Beyond this many bends the longest edges are drawn straight."""


class _Work:
    """Layered copy of a level: items and bends as one list of vertices."""

    __slots__ = ("above", "below", "chains", "half", "layer", "rows")

    def __init__(self, half: list[float], layer: list[int]) -> None:
        self.half, self.layer = half, layer
        self.rows: list[list[int]] = []
        self.above: list[Near] = []
        self.below: list[Near] = []
        self.chains: list[list[int]] = []


def _no_limit() -> None:
    """Go on."""


def lay_out(level: Level, deadline: Callable[[], None] = _no_limit) -> Drawing:
    """Positions and curves for one level. 2,000 items take about 0.2 s.

    `deadline` is called before every row of every sweep, and may raise to give up.
    """
    if not level.sizes:
        return Drawing((), (), (), 0.0, 0.0, (), 0)
    deadline()
    layer = assign_layers(level, deadline)
    work = _with_bends(level, layer)
    deadline()
    work.rows = order_rows(work.rows, work.above, work.below, deadline)
    spine = spine_of(level.links, work.chains, len(level.sizes))
    x = _place(work, spine, deadline)
    return _draw(level, work, x, spine)


def _with_bends(level: Level, layer: list[int]) -> _Work:
    """Split links over several layers at bends; links of one bundle share theirs and so run as one line."""
    work = _Work([math.ceil(width / 2 / STEP_X) * STEP_X for width, _ in level.sizes], list(layer))
    work.above, work.below = [[] for _ in layer], [[] for _ in layer]
    shared: dict[tuple[int, int], int] = {}
    joined: set[tuple[int, int]] = set()
    for link in level.links:
        chain, dx = [link.source], link.source_dx
        for row in range(layer[link.source] + 1, layer[link.target]):
            key = (link.bundle, row)
            if key not in shared:
                if len(work.layer) > MAXIMUM_DUMMIES:
                    break
                shared[key] = _bend(work, row)
            _join_once(work, joined, chain[-1], dx, shared[key], 0.0)
            chain.append(shared[key])
            dx = 0.0
        _join_once(work, joined, chain[-1], dx, link.target, link.target_dx or 0.0)
        chain.append(link.target)
        work.chains.append(chain)
    work.rows = [[] for _ in range(max(work.layer) + 1)]
    for vertex, row in enumerate(work.layer):
        work.rows[row].append(vertex)
    return work


def _join_once(
    work: _Work, joined: set[tuple[int, int]], upper: int, upper_dx: float, lower: int, lower_dx: float
) -> None:
    if (upper, lower) not in joined:
        joined.add((upper, lower))
        _join(work, upper, upper_dx, lower, lower_dx)


def _bend(work: _Work, row: int) -> int:
    work.half.append(0.0)
    work.layer.append(row)
    work.above.append([])
    work.below.append([])
    return len(work.layer) - 1


def _join(work: _Work, upper: int, upper_dx: float, lower: int, lower_dx: float) -> None:
    """Ports far off centre bend their edge instead of pushing a whole row of frames aside."""
    shift = upper_dx - lower_dx
    shift = shift if abs(shift) <= FAR_PORT else 0.0
    work.below[upper].append((lower, shift))
    work.above[lower].append((upper, -shift))


def _spread(level: Level, work: _Work) -> list[float]:
    """Where on the target each link arrives: side by side, in the order of where they come from."""
    place = [0.0] * len(work.layer)
    for row in work.rows:
        for position, vertex in enumerate(row):
            place[vertex] = position
    arrivals: dict[int, dict[int, list[int]]] = {}
    offsets = [link.target_dx or 0.0 for link in level.links]
    for number, link in enumerate(level.links):
        if link.target_dx is None:
            previous = work.chains[number][-2]
            arrivals.setdefault(link.target, {}).setdefault(previous, []).append(number)
    for target, lines in arrivals.items():
        room = min(18.0, max(0.0, level.sizes[target][0] - 28.0) / len(lines))
        for position, previous in enumerate(sorted(lines, key=lambda vertex: (place[vertex], vertex))):
            for number in lines[previous]:
                offsets[number] = (position - (len(lines) - 1) / 2) * room
    return offsets


def _place(work: _Work, spine: dict[int, float], deadline: Callable[[], None]) -> list[float]:
    """x of every vertex: start packed, then pull each layer towards its neighbours and the spine without overlap."""
    x = [0.0] * len(work.layer)
    for row in work.rows:
        cursor = 0.0
        for position, vertex in enumerate(row):
            cursor += _distance(work, row[position - 1], vertex) if position else 0.0
            x[vertex] = cursor
        shift = cursor / 2
        for vertex in row:
            x[vertex] -= shift
    sweeps = 10 if len(work.layer) < 1500 else 4
    for sweep in range(sweeps):
        both = sweep >= sweeps - 2
        for row in work.rows if sweep % 2 == 0 else reversed(work.rows):
            deadline()
            _pull(work, row, x, spine, sweep % 2 == 0, both)
    return x


def _distance(work: _Work, left: int, right: int) -> float:
    gap = DUMMY if not work.half[left] or not work.half[right] else GAP_X
    return work.half[left] + work.half[right] + gap


def _pull(work: _Work, row: list[int], x: list[float], spine: dict[int, float], down: bool, both: bool) -> None:
    wanted, weights = [], []
    for vertex in row:
        if vertex in spine:
            wanted.append(spine[vertex])
            weights.append(PINNED)
            continue
        near = work.above[vertex] + work.below[vertex] if both else (work.above if down else work.below)[vertex]
        bend = not work.half[vertex]
        if near:
            solid = [(n, dx) for n, dx in near if work.half[n]]
            spots = sorted(x[n] - dx for n, dx in (near if bend else solid or near))
            middle = len(spots) // 2
            wanted.append(spots[middle] if len(spots) % 2 else (spots[middle - 1] + spots[middle]) / 2)
        else:
            wanted.append(x[vertex])
        solid_near = any(work.half[n] for n, _ in near)
        weights.append((1.0 if solid_near == bend else 4.0) if near else 0.05)
    if len(row) == 1:
        x[row[0]] = wanted[0]
        return
    offset, offsets = 0.0, [0.0]
    for left, right in pairwise(row):
        offset += _distance(work, left, right)
        offsets.append(offset)
    for vertex, value, shift in zip(
        row, isotonic([w - o for w, o in zip(wanted, offsets, strict=True)], weights), offsets, strict=True
    ):
        x[vertex] = value + shift


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing sequence closest to `values` in weighted squares (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        total, mass, count = value * weight, weight, 1
        while blocks and blocks[-1][0] * mass >= total * blocks[-1][1]:
            previous = blocks.pop()
            total, mass, count = total + previous[0], mass + previous[1], count + previous[2]
        blocks.append((total, mass, count))
    return [total / mass for total, mass, count in blocks for _ in range(count)]


def _draw(level: Level, work: _Work, x: list[float], spine: dict[int, float]) -> Drawing:
    spots = break_columns(level, work.rows, work.half, work.chains, x, spine)
    offsets = _spread(level, work)
    curves = draw_curves(level, work.chains, spots, offsets)
    count = len(level.sizes)
    return Drawing(
        x=tuple(spots.x[:count]),
        y=tuple(spots.y[:count]),
        curves=tuple(curves),
        width=spots.width,
        height=spots.height,
        layers=tuple(work.layer[:count]),
        columns=len(spots.tops),
    )
