"""A matrix made small enough to draw: blocks stand for their element of largest magnitude."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_SIDE = 200


@dataclass(frozen=True)
class Reduced:
    """What is drawn: one value per cell, and the first and one past the last index each row and column stands for."""

    values: NDArray[Any]
    row_ranges: tuple[tuple[int, int], ...]
    column_ranges: tuple[tuple[int, int], ...]

    @property
    def is_reduced(self) -> bool:
        return any(end - first > 1 for first, end in (*self.row_ranges, *self.column_ranges))

    @property
    def block_text(self) -> str:
        """Rows x columns of the largest block."""
        sides = [max((end - first for first, end in ranges), default=0) for ranges in self._both]
        return f"{sides[0]}×{sides[1]}"

    @property
    def _both(self) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        return self.row_ranges, self.column_ranges

    def row_of(self, index: int) -> int:
        """The drawn row that holds row `index` of the matrix."""
        return _holding(self.row_ranges, index)

    def column_of(self, index: int) -> int:
        """The drawn column that holds column `index` of the matrix."""
        return _holding(self.column_ranges, index)


def reduce(matrix: NDArray[Any], side: int = LARGEST_SIDE) -> Reduced:
    """`matrix` with at most `side` rows and columns; a block with a non-finite element shows that one."""
    rows, columns = (_ranges(length, side) for length in matrix.shape)
    if len(rows) == matrix.shape[0] and len(columns) == matrix.shape[1]:
        return Reduced(matrix, rows, columns)
    return Reduced(_largest(_largest(matrix, rows, 0), columns, 1), rows, columns)


def _largest(matrix: NDArray[Any], ranges: tuple[tuple[int, int], ...], axis: int) -> NDArray[Any]:
    """Along `axis`, of every range the element of largest magnitude, NaN above infinity above all numbers."""
    size = np.abs(matrix)
    rank = np.where(np.isnan(size), np.inf, np.where(np.isinf(size), np.finfo(np.float64).max, size))
    picked = []
    for first, end in ranges:
        part = np.arange(first, end)
        where = np.expand_dims(rank.take(part, axis).argmax(axis), axis)
        picked.append(np.take_along_axis(matrix.take(part, axis), where, axis))
    return np.concatenate(picked, axis) if picked else matrix


def _ranges(length: int, side: int) -> tuple[tuple[int, int], ...]:
    cells = min(length, side)
    edges = [length * cell // cells for cell in range(cells + 1)] if cells else [0]
    return tuple(pairwise(edges))


def _holding(ranges: tuple[tuple[int, int], ...], index: int) -> int:
    return next((number for number, (first, end) in enumerate(ranges) if first <= index < end), 0)
