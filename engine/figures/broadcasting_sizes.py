"""Sizes small enough to draw every cell, that keep which sizes are 1, 0, equal or different."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from engine.broadcasting.rule import Shape, operation_alignment

LEAST = 2
MOST = (6, 5, 4, 3, 2)
MOST_CELLS, MOST_ALONE = 60, 200
"""Cells of the largest panel, with expanded forms beside it and without."""
MOST_EINSUM_CELLS, MOST_READS = 48, 4096


def drawn_shapes(operation: str, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes with every size cut alike, as large as can be drawn with the same dimensions at fault."""
    alignment = operation_alignment(operation, shapes)
    kept = []
    for most in MOST:
        cut = cut_sizes([size for shape in shapes for size in shape], most)
        drawn = tuple(tuple(cut[size] for size in shape) for shape in shapes)
        now = operation_alignment(operation, drawn)
        if now.faults == alignment.faults:
            kept.append(drawn)
            cells = max(math.prod(shape) for shape in (*drawn, now.shape or ()))
            if cells <= (MOST_ALONE if now.shape is None else MOST_CELLS):
                return drawn
    return kept[-1] if kept else tuple(shapes)


def cut_sizes(sizes: Sequence[int], most: int) -> dict[int, int]:
    """Size -> the size it is drawn with: 0 and 1 stay, the largest becomes `most` at most, smaller ones less."""
    cut, limit = {}, most
    for size in sorted(set(sizes), reverse=True):
        cut[size] = size if size < LEAST else min(size, limit)
        limit = max(LEAST, min(limit, cut[size] - 1)) if size >= LEAST else limit
    return cut


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """Strides in elements of a contiguous tensor."""
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def expanded_strides(shape: Shape, target: Shape) -> tuple[int, ...]:
    """Strides of a contiguous tensor of `shape` after `expand(target)`: 0 where it is put in front or stretched."""
    added = len(target) - len(shape)
    own = contiguous_strides(shape)
    return (0,) * added + tuple(0 if size == 1 else stride for size, stride in zip(shape, own, strict=True))


def indices(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Every index in row-major order."""
    return itertools.product(*(range(size) for size in shape))


def address(index: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the start."""
    return sum(position * stride for position, stride in zip(index, strides, strict=True))


def drawn_lengths(lengths: Mapping[str, int], operands: Sequence[Sequence[str]]) -> dict[str, int]:
    """Index -> steps it is drawn with, so few that every operand and every read can be drawn."""
    for most in (5, 4, 3, 2):
        cut = {letter: length if length < LEAST else min(length, most) for letter, length in lengths.items()}
        largest = max(math.prod(cut[letter] for letter in operand) for operand in operands)
        if largest <= MOST_EINSUM_CELLS and math.prod(cut.values()) <= MOST_READS:
            return cut
    return cut
