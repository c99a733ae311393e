"""From layers to a page: heights, breaking a long drawing into columns, and the curves between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from engine.figures.level import GAP_Y, LANE, Curve, Level
from engine.figures.spine import has_spine, straighten

TALL = 620.0
"""A drawing lower than this stays in one column."""
TOLL = 0.12
"""What breaking one more edge than the first costs, against squared unevenness of the columns."""
REACH, WIDER = 220.0, 13.0
"""For so far sideways that an edge runs below a row there is so much more room, twice at most."""
MAXIMUM_CUT = 10
"""Never break where more edges than this would have to change column."""
STEP = 20.0
"""The spine and the width of a column are at multiples of this."""
SLOT = 30.0
"""Rows get multiples of this: two lines of small print."""
RADIUS = 9.0
KAPPA = 0.5523
"""Control distance of a cubic that draws a quarter circle."""


class Spots(NamedTuple):
    """Where every vertex ended up; `column` and `spans` (top, bottom) per layer, `tops` and `bottoms` per column.

    `gutters` has the x where the space between a column and the next begins.
    """

    x: list[float]
    y: list[float]
    half_height: list[float]
    column: list[int]
    spans: list[tuple[float, float]]
    layer: list[int]
    tops: list[float]
    bottoms: list[float]
    gutters: list[float]
    width: float
    height: float


def break_columns(
    level: Level,
    rows: list[list[int]],
    half: list[float],
    chains: Sequence[Sequence[int]],
    x: list[float],
    spine: Mapping[int, float],
) -> Spots:
    """y for every vertex and, when `level.aspect` asks for it, columns of about equal height."""
    half_height = [height / 2 for _, height in level.sizes] + [0.0] * (len(x) - len(level.sizes))
    layer = [0] * len(x)
    for number, row in enumerate(rows):
        for vertex in row:
            layer[vertex] = number
    if not has_spine(rows, spine):
        straighten(rows, x)
    steps = _row_steps(level, rows, half_height, chains, x, layer)
    cuts = _cuts(level, rows, half, half_height, chains, layer, x, steps) if level.aspect else []
    return _arrange(level, rows, half, half_height, chains, x, layer, steps, cuts, spine)


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
    gaps = [0.0] + [GAP_Y + min(2, round(reach[row] / REACH)) * WIDER for row in range(1, len(rows))]
    for row in range(1, len(rows)):
        if all(v in ports for v in rows[row]) or all(v in ports for v in rows[row - 1]):
            gaps[row] = round(gaps[row] * 0.75)
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
    heights = [slot(2 * max(half_height[v] for v in row)) for row in rows]
    total = sum(heights) + sum(steps)
    width = max(x[v] + half[v] for v in range(len(x))) - min(x[v] - half[v] for v in range(len(x)))
    if total < TALL or len(rows) < 3:
        return []
    columns = max(1, round(math.sqrt(level.aspect * total / (width + 60))))
    counts = _crossing_counts(rows, chains, layer)
    first, last = (2 if level.upper else 1), len(rows) - (2 if level.lower else 1)
    return _choose_cuts(heights, steps, counts, columns, first, last) if columns > 1 else []


def _choose_cuts(
    heights: list[float], steps: list[float], counts: list[int], columns: int, first: int, last: int
) -> list[int]:
    """Rows that start a new column: columns of about equal height, cut where few edges pass (dynamic programme).

    Only rows `first` to `last` may start one: ports stay with what they lead to.
    """
    target, rows = (sum(heights) + sum(steps)) / columns, len(heights)
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
        toll = TOLL * (counts[end] - 1) if end < rows else 0.0
        allowed = end == rows or (first <= end <= last and counts[end] <= MAXIMUM_CUT)
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
    spine: Mapping[int, float],
) -> Spots:
    counts = _crossing_counts(rows, chains, layer)
    blank = [0.0] * len(x)
    spots = Spots(list(x), blank, half_height, [0] * len(rows), [(0.0, 0.0)] * len(rows), layer, [], [], [], 0.0, 0.0)
    left, height = 0.0, 0.0
    for start, end in pairwise([0, *cuts, len(rows)]):
        if not has_spine(rows[start:end], spine):
            straighten(rows[start:end], spots.x)
        if start:
            spots.gutters.append(left)
            left += 26.0 + LANE * counts[start]
        spots.tops.append(LANE * counts[start] + 16.0 if start else 0.0)
        spots.bottoms.append(_stack_rows(spots, rows, steps, start, end))
        members = [v for row in rows[start:end] for v in row]
        shift = left - min(spots.x[v] - half[v] for v in members)
        middle = next((spots.x[v] + shift for v in members if v in spine), 0.0)
        shift += math.ceil(middle / STEP) * STEP - middle
        for v in members:
            spots.x[v] += shift
        left = max(spots.x[v] + half[v] for v in members) + (10.0 if end < len(rows) else 0.0)
        left = math.ceil(left / STEP) * STEP
        height = max(height, spots.bottoms[-1] + (LANE * counts[end] + 16.0 if end < len(rows) else 0.0))
    for port in level.lower:
        spots.y[port] = height - half_height[port]
    return spots._replace(width=left, height=height)


def slot(height: float) -> float:
    """Room kept for a row of that height: a line of words more or less mostly moves no other row."""
    return math.ceil(height / SLOT) * SLOT


def _stack_rows(spots: Spots, rows: list[list[int]], steps: list[float], start: int, end: int) -> float:
    """Set rows `start` to `end` below one another in a new column; returns its bottom."""
    cursor = spots.tops[-1]
    for row in range(start, end):
        spots.column[row] = len(spots.tops) - 1
        cursor += steps[row] if row > start else 0.0
        half = max(spots.half_height[v] for v in rows[row])
        middle = cursor + slot(2 * half) / 2
        for v in rows[row]:
            spots.y[v] = middle
        spots.spans[row] = (middle - half, middle + half)
        cursor = 2 * middle - cursor
    return cursor


def draw_curves(level: Level, chains: Sequence[Sequence[int]], spots: Spots, offsets: Sequence[float]) -> list[Curve]:
    """One chain of cubic segments per link, from the lower rim of its source to the upper rim of its target.

    Edges are upright beside boxes and bend only between layers, so they pass over nothing.
    """
    lanes: dict[tuple[int, int, int], int] = {}
    used: dict[int, int] = {}
    curves = []
    for number, (link, chain) in enumerate(zip(level.links, chains, strict=True)):
        start_x = spots.x[chain[0]] + link.source_dx
        points = [start_x, spots.y[chain[0]] + spots.half_height[chain[0]]]
        for upper, lower in pairwise(chain):
            last = lower == chain[-1]
            x1 = spots.x[lower] + (offsets[number] if last else 0.0)
            a, b = spots.column[spots.layer[upper]], spots.column[spots.layer[lower]]
            _drop(points, spots.spans[spots.layer[upper]][1])
            entry = spots.spans[spots.layer[lower]][0]
            if a == b:
                points += _fall(points[-2], points[-1], x1, entry)
            else:
                lane = lanes.setdefault((link.bundle, upper, b), used.get(b, 0))
                used[b] = max(used.get(b, 0), lane + 1)
                points += _around(points[-2], points[-1], x1, entry, spots, a, b, lane)
            if last:
                _drop(points, spots.y[lower] - spots.half_height[lower])
        curves.append(tuple(points))
    return curves


def _drop(points: list[float], y: float) -> None:
    """Go straight down to `y`."""
    if y - points[-1] > 0.5:
        points += _straight((points[-2], points[-1]), (points[-2], y))
    elif len(points) > 2:
        points[-1] = y


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
