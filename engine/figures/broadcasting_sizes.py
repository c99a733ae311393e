"""Sizes small enough to draw every cell, that keep which sizes are 1, 0, equal or different."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from engine.broadcasting.rule import Shape

INNER, OUTER, LEAST = 6, 3, 2
MOST_CELLS = 400
MOST_READS = 4096


def drawn_shapes(shapes: Sequence[Shape], result_dims: int) -> tuple[Shape, ...]:
    """Shapes that are cut dimension by dimension from the right: the last two to 6, those in front to 3."""
    for inner, outer in ((INNER, OUTER), (4, 2), (3, 2), (2, 2)):
        cut = tuple(tuple(_cut(shape, inner, outer)) for shape in shapes)
        if math.prod(_largest(cut, result_dims)) <= MOST_CELLS:
            return cut
    return cut


def _cut(shape: Shape, inner: int, outer: int) -> Iterator[int]:
    for place, size in enumerate(shape):
        most = inner if place >= len(shape) - 2 else outer
        yield size if size < LEAST else min(size, most)


def _largest(shapes: Sequence[Shape], dims: int) -> list[int]:
    padded = [(1,) * (dims - len(shape)) + shape for shape in shapes]
    return [max(column) for column in zip(*padded, strict=True)] if padded else []


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
        if largest <= MOST_CELLS and math.prod(cut.values()) <= MOST_READS:
            return cut
    return cut
