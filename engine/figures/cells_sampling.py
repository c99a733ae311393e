"""Which indices of a large tensor to draw, and how often its memory is read: strides as arithmetic, no elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from engine.figures.units import format_shape

ORDINALS = {1: "st", 2: "nd", 3: "rd"}


class Sample(msgspec.Struct, frozen=True):
    """Every `steps[d]`-th index of dimension d, from 0; `words` say so, "" when nothing was left out."""

    full_shape: tuple[int, ...]
    steps: tuple[int, ...]
    words: str = ""

    @property
    def kept(self) -> tuple[range, ...]:
        """Indices kept of every dimension."""
        return tuple(range(0, size, step) for size, step in zip(self.full_shape, self.steps, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.kept))

    def stride(self, stride: Sequence[int]) -> tuple[int, ...]:
        """Strides from one kept index to the next."""
        return tuple(one * step for one, step in zip(stride, self.steps, strict=True))

    def indices(self) -> list[tuple[int, ...]]:
        """Every kept index of the tensor, row-major."""
        return list(itertools.product(*self.kept))


def sample_indices(shape: Sequence[int], maximum_cells: int) -> Sample:
    """At most `maximum_cells` indices of a tensor: the longest dimensions are thinned first."""
    sizes = list(shape)
    steps = [1] * len(sizes)
    while math.prod(sizes) > maximum_cells:
        # All of the longest at once, so that a square and its transpose keep the same elements.
        for dim in [dim for dim, size in enumerate(sizes) if size == max(sizes)]:
            steps[dim] *= 2
        sizes = [-(-size // step) for size, step in zip(shape, steps, strict=True)]
    return Sample(tuple(shape), tuple(steps), _words(shape, sizes, steps))


def _words(shape: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> str:
    if max(steps, default=1) == 1:
        return ""
    last = len(shape) - 1
    names = [{last: "column", last - 1: "row"}.get(dim, f"index of dim {dim}") for dim in range(len(shape))]
    thinned = [f"every {_ordinal(step)} {name}" for step, name in zip(steps, names, strict=True) if step > 1]
    return f"showing {format_shape(sizes)} of {format_shape(shape)}: {', '.join(thinned)}"


def _ordinal(number: int) -> str:
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else ORDINALS.get(number % 10, 'th')}"


def count_reads(shape: Sequence[int], stride: Sequence[int], start: int, places: int) -> list[int]:
    """For each of `places` places, how many indices land on it: `start + sum(index * stride)`.

    Exact and in O(dims * places) whatever the shape: a dimension adds its shifted copies as a running sum.
    """
    counts = [0] * places
    if math.prod(shape) == 0:
        return counts
    counts[start] = 1
    for size, step in zip(shape, stride, strict=True):
        if step == 0:
            counts = [count * size for count in counts]
        elif size > 1:
            counts = _spread(counts, size, step)
    return counts


def _spread(counts: list[int], size: int, step: int) -> list[int]:
    spread = list(counts)
    width = size * step
    for place in range(step, len(counts)):
        leaving = counts[place - width] if place >= width else 0
        spread[place] += spread[place - step] - leaving
    return spread
