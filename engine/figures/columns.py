"""From layers to a page: heights, breaking a long drawing into columns, and the curves between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from engine.figures.level import GAP_Y, LANE, Curve, Level

TALL = 620.0
"""A drawing lower than this stays in one column."""
MAXIMUM_CUT = 10
"""Never break where more edges than this would have to change column."""
RADIUS = 9.0
KAPPA = 0.5523
"""Control distance of a cubic that draws a quarter circle."""


class Spots(NamedTuple):
    """Where every vertex ended up; `column` per layer, `tops` and `bottoms` per column, `gutters` x between columns."""

    x: list[float]
    y: list[float]
    half_height: list[float]
    column: list[int]
    layer: list[int]
    tops: list[float]
    bottoms: list[float]
    gutters: list[float]
    width: float
    height: float


def break_columns(
    level: Level, rows: list[list[int]], half: list[float], chains: Sequence[Sequence[int]], x: list[float]
) -> Spots:
    """y for every vertex and, when `level.aspect` asks for it, columns of about equal height."""
    half_height = [height / 2 for _, height in level.sizes] + [0.0] * (len(x) - len(level.sizes))
    layer = [0] * len(x)
    for number, row in enumerate(rows):
        for vertex in row:
            layer[vertex] = number
    steps = _row_steps(level, rows, half_height, chains, x, layer)
    cuts = _cuts(level, rows, half, half_height, chains, layer, x, steps) if level.aspect else []
    return _arrange(level, rows, half, half_height, chains, x, layer, steps, cuts)


def _row_steps(
    level: Level,
    rows: list[list[int]],
    half_height: list[float],
    chains: Sequence[Sequence[int]],
    x: list[float],
    layer: list[int],
) -> list[float]:
    """Free height above each layer: more where edges run far sideways, so that curves stay gentle."""
    reach = [0.0] * len(rows)
    for chain in chains:
        for upper, lower in pairwise(chain):
            reach[layer[lower]] = max(reach[layer[lower]], abs(x[upper] - x[lower]))
    ports = level.upper | level.lower
    gaps = [0.0] + [GAP_Y + min(26.0, reach[row] * 0.06) for row in range(1, len(rows))]
    for row in range(1, len(rows)):
        if all(v in ports for v in rows[row]) or all(v in ports for v in rows[row - 1]):
            gaps[row] *= 0.75
    return gaps


def _crossing_counts(rows: list[list[int]], chains: Sequence[Sequence[int]], layer: list[int]) -> list[int]:
    """How many distinct edges run between layer r - 1 and r."""
    pairs = {(upper, lower) for chain in chains for upper, lower in pairwise(chain)}
    delta = [0] * (len(rows) + 1)
    for upper, lower in pairs:
        delta[layer[upper] + 1] += 1
        delta[layer[lower] + 1] -= 1
    total, counts = 0, []
    for row in range(len(rows)):
        total += delta[row]
        counts.append(total)
    return counts


def _cuts(
    level: Level,
    rows: list[list[int]],
    half: list[float],
    half_height: list[float],
    chains: Sequence[Sequence[int]],
    layer: list[int],
    x: list[float],
    steps: list[float],
) -> list[int]:
    heights = [2 * max(half_height[v] for v in row) for row in rows]
    total = sum(heights) + sum(steps)
    width = max(x[v] + half[v] for v in range(len(x))) - min(x[v] - half[v] for v in range(len(x)))
    if total < TALL or len(rows) < 3:
        return []
    columns = max(1, round(math.sqrt(level.aspect * total / (width + 60))))
    counts = _crossing_counts(rows, chains, layer)
    return _choose_cuts(heights, steps, counts, columns, total) if columns > 1 else []


def _choose_cuts(heights: list[float], steps: list[float], counts: list[int], columns: int, total: float) -> list[int]:
    """Rows that start a new column: columns of about equal height, cut where few edges pass (dynamic programme)."""
    target, rows = total / columns, len(heights)
    depth = [0.0]
    for height, step in zip(heights, steps, strict=True):
        depth.append(depth[-1] + height + step)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, rows + 1):
        found = (math.inf, end - 1)
        for start in range(end - 1, -1, -1):
            size = (depth[end] - depth[start]) / target
            if size > 1.6 and found[0] < math.inf:
                break
            found = min(found, (best[start][0] + (size - 1) ** 2, start))
        toll = 0.03 * counts[end] if end < rows else 0.0
        allowed = end == rows or (1 < end < rows - 1 and counts[end] <= MAXIMUM_CUT)
        best.append((found[0] + toll if allowed else math.inf, found[1]))
    cuts, row = [], best[rows][1]
    while row:
        cuts.append(row)
        row = best[row][1]
    return cuts[::-1]


def _arrange(
    level: Level,
    rows: list[list[int]],
    half: list[float],
    half_height: list[float],
    chains: Sequence[Sequence[int]],
    x: list[float],
    layer: list[int],
    steps: list[float],
    cuts: list[int],
) -> Spots:
    counts = _crossing_counts(rows, chains, layer)
    starts = [0, *cuts]
    ends = [*cuts, len(rows)]
    placed_x, y = list(x), [0.0] * len(x)
    column = [0] * len(rows)
    tops, bottoms, gutters, left = [], [], [], 0.0
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        members = [v for row in rows[start:end] for v in row]
        lanes_in = counts[start] if number else 0
        lanes_out = counts[end] if end < len(rows) else 0
        if number:
            gutters.append(left)
            left += 26.0 + LANE * lanes_in
        shift = left - min(x[v] - half[v] for v in members)
        cursor = LANE * lanes_in + 16.0 if number else 0.0
        tops.append(cursor)
        for row in range(start, end):
            column[row] = number
            height = max(half_height[v] for v in rows[row])
            cursor += steps[row] if row > start else 0.0
            for v in rows[row]:
                y[v], placed_x[v] = cursor + height, x[v] + shift
            cursor += 2 * height
        bottoms.append(cursor)
        left = max(placed_x[v] + half[v] for v in members) + (26.0 if lanes_out else 0.0)
    height = max(b + (LANE * counts[e] + 16.0 if e < len(rows) else 0.0) for b, e in zip(bottoms, ends, strict=True))
    for port in level.lower:
        y[port] = height - half_height[port]
    return Spots(placed_x, y, half_height, column, layer, tops, bottoms, gutters, left, height)


def draw_curves(level: Level, chains: Sequence[Sequence[int]], spots: Spots, offsets: Sequence[float]) -> list[Curve]:
    """One chain of cubic segments per link, from the lower rim of its source to the upper rim of its target."""
    lanes: dict[tuple[int, int], int] = {}
    used: dict[int, int] = {}
    curves = []
    for number, (link, chain) in enumerate(zip(level.links, chains, strict=True)):
        points: list[float] = []
        for step, (upper, lower) in enumerate(pairwise(chain)):
            x0 = spots.x[upper] + (link.source_dx if step == 0 else 0.0)
            x1 = spots.x[lower] + (offsets[number] if step == len(chain) - 2 else 0.0)
            y0, y1 = spots.y[upper] + spots.half_height[upper], spots.y[lower] - spots.half_height[lower]
            points = points or [x0, y0]
            a, b = spots.column[spots.layer[upper]], spots.column[spots.layer[lower]]
            if a == b:
                points += _fall(x0, y0, x1, y1)
                continue
            lane = lanes.setdefault((upper, b), used.get(b, 0))
            used[b] = max(used.get(b, 0), lane + 1)
            points += _around(x0, y0, x1, y1, spots, a, b, lane)
        curves.append(tuple(points))
    return curves


def _fall(x0: float, y0: float, x1: float, y1: float) -> list[float]:
    bend = (y1 - y0) * 0.5
    return [x0, y0 + bend, x1, y1 - bend, x1, y1]


def _around(x0: float, y0: float, x1: float, y1: float, spots: Spots, a: int, b: int, lane: int) -> list[float]:
    """Down to the foot of column `a`, through the gutters, up and over into column `b`."""
    gutter = spots.gutters[b - 1] + 13.0 + LANE * lane
    foot = spots.bottoms[a] + 8.0 + LANE * lane
    head = spots.tops[b] - 8.0 - LANE * lane
    return rounded([(x0, y0), (x0, foot), (gutter, foot), (gutter, head), (x1, head), (x1, y1)])


def rounded(corners: Sequence[tuple[float, float]]) -> list[float]:
    """A right-angled path as cubic segments with rounded corners, without its first point."""
    points: list[float] = []
    here = corners[0]
    for previous, corner, following in zip(corners, corners[1:], corners[2:], strict=False):
        radius = min(RADIUS, math.dist(previous, corner) / 2, math.dist(corner, following) / 2)
        start, end = _towards(corner, previous, radius), _towards(corner, following, radius)
        points += _straight(here, start)
        points += [*_towards(start, corner, radius * KAPPA), *_towards(end, corner, radius * KAPPA), *end]
        here = end
    return points + _straight(here, corners[-1])


def _towards(origin: tuple[float, float], goal: tuple[float, float], length: float) -> tuple[float, float]:
    distance = math.dist(origin, goal)
    if distance == 0:
        return origin
    return origin[0] + (goal[0] - origin[0]) * length / distance, origin[1] + (goal[1] - origin[1]) * length / distance


def _straight(a: tuple[float, float], b: tuple[float, float]) -> list[float]:
    return [a[0], a[1], b[0], b[1], b[0], b[1]]
