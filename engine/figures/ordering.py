"""Order of the boxes and bends in every layer: few crossings, by barycentre sweeps and swaps of neighbours.

Gansner, Koutsofios, North and Vo, "A Technique for Drawing Directed Graphs" (1993), section 3, with means for medians.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

Near = list[tuple[int, float]]
"""Neighbours in a layer beside, with the offset of the edge's end there from the neighbour's centre."""
Rows = list[list[int]]

SWEEPS = 24
PATIENCE = 4
"""Sweeps without a better order after which the best is taken."""
MANY, VERY_MANY = 3000, 12_000
"""From this many boxes and bends on neighbours are swapped only at the end, and there are fewer sweeps."""
PORT = 1e-4
"""What an offset of one pixel counts against a whole place in the order."""


def order_rows(rows: Rows, above: Sequence[Near], below: Sequence[Near], deadline: Callable[[], None]) -> Rows:
    """The rows in a better order; equal input gives equal output, and what nothing pulls keeps its place.

    From the given order and from one in which what hangs together stands together; the first wins a tie.
    """
    first, found = _improve(rows, above, below, deadline)
    if not first or sum(map(len, rows)) >= MANY:
        return found
    second, other = _improve(_by_walk(rows, below), above, below, deadline)
    return other if second < first else found


def _by_walk(rows: Rows, below: Sequence[Near]) -> Rows:
    """Rows in the order in which a walk down along the edges comes by, the deepest first."""
    rank = [-1] * len(below)
    steps = 0
    for root in (vertex for row in rows for vertex in row):
        stack = [root]
        while stack:
            vertex = stack.pop()
            if rank[vertex] < 0:
                rank[vertex] = steps = steps + 1
                stack.extend(near for near, _ in reversed(below[vertex]))
    return [sorted(row, key=rank.__getitem__) for row in rows]


def _improve(
    rows: Rows, above: Sequence[Near], below: Sequence[Near], deadline: Callable[[], None]
) -> tuple[int, Rows]:
    """(crossings, rows) after sweeps until there are none or nothing gets better."""
    state = _Order([list(row) for row in rows], above, below, deadline)
    count = sum(map(len, rows))
    best, kept, idle = state.crossings(), [list(row) for row in state.rows], 0
    for sweep in range(SWEEPS if count < MANY else SWEEPS // 2 if count < VERY_MANY else 4):
        if best == 0 or idle == PATIENCE:
            break
        state.sweep(down=sweep % 2 == 0)
        if count < MANY:
            state.swap()
        found = state.crossings()
        idle = 0 if found < best else idle + 1
        if found < best:
            best, kept = found, [list(row) for row in state.rows]
    if best and count >= MANY:
        state = _Order(kept, above, below, deadline)
        kept = state.swap()
        best = state.crossings()
    return best, kept


class _Order:
    """Rows with the place of every vertex in its row."""

    def __init__(self, rows: Rows, above: Sequence[Near], below: Sequence[Near], deadline: Callable[[], None]) -> None:
        self.rows, self.above, self.below, self.deadline = rows, above, below, deadline
        self.place = [0.0] * len(above)
        for row in rows:
            self._settle(row)

    def _settle(self, row: Sequence[int]) -> None:
        for position, vertex in enumerate(row):
            self.place[vertex] = position

    def crossings(self) -> int:
        return crossings(self.rows, self.below, self.place)

    def sweep(self, down: bool) -> None:
        """Order every row by the mean place of its neighbours in the row before."""
        near, place = self.above if down else self.below, self.place
        for row in self.rows if down else reversed(self.rows):
            self.deadline()
            if len(row) > 1:
                wanted = {v: sum(self._spots(near[v])) / len(near[v]) if near[v] else place[v] for v in row}
                row.sort(key=lambda vertex: (wanted[vertex], place[vertex]))
            self._settle(row)

    def _spots(self, near: Near) -> list[float]:
        place = self.place
        return [place[n] + dx * PORT for n, dx in near]

    def swap(self) -> Rows:
        """Exchange neighbours in a row while that takes out crossings."""
        for _ in range(PATIENCE):
            better = 0
            for row in self.rows:
                self.deadline()
                if len(row) > 1:
                    better += self._swap_row(row)
            if not better:
                break
        return self.rows

    def _swap_row(self, row: list[int]) -> int:
        spots = {v: (sorted(self._spots(self.above[v])), sorted(self._spots(self.below[v]))) for v in row}
        better = 0
        for at in range(len(row) - 1):
            left, right = row[at], row[at + 1]
            gain = sum(_gain(a, b) for a, b in zip(spots[left], spots[right], strict=True))
            if gain > 0:
                better += gain
                row[at], row[at + 1] = right, left
        self._settle(row)
        return better


def _gain(left: Sequence[float], right: Sequence[float]) -> int:
    """How many crossings fewer there are with these neighbours, each sorted, the other way round."""
    return _pairs(left, right) - _pairs(right, left) if left and right else 0


def _pairs(left: Sequence[float], right: Sequence[float]) -> int:
    """Pairs in which the left one's neighbour stands further right."""
    if left[-1] <= right[0]:
        return 0
    return sum(len(left) - bisect_right(left, spot) for spot in right)


def crossings(rows: Rows, below: Sequence[Near], place: Sequence[float]) -> int:
    """Pairs of edges between neighbouring layers that cross; n log n by merge counting in a Fenwick tree."""
    total = 0
    for row in rows:
        if len(row) < 2:
            continue
        ends = [place[n] for v in row for n in sorted((n for n, _ in below[v]), key=place.__getitem__)]
        total += _inversions(ends)
    return total


def _inversions(ends: Sequence[float]) -> int:
    if all(a <= b for a, b in pairwise(ends)):
        return 0
    size = int(max(ends)) + 2
    tree, total = [0] * (size + 1), 0
    for seen, end in enumerate(ends):
        index, not_greater = int(end) + 1, 0
        while index:
            not_greater += tree[index]
            index -= index & -index
        total += seen - not_greater
        index = int(end) + 1
        while index <= size:
            tree[index] += 1
            index += index & -index
    return total
