"""Which indices of a large tensor to draw, and how often its memory is read: strides as arithmetic, no elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from engine.figures.units import format_shape

ORDINALS = {1: "st", 2: "nd", 3: "rd"}


class Sample(msgspec.Struct, frozen=True):
    """Indices kept of every dimension, evenly spaced from 0; `words` say so, "" when nothing was left out."""

    kept: tuple[tuple[int, ...], ...]
    words: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.kept))

    def indices(self) -> list[tuple[int, ...]]:
        """Every kept index of the tensor, row-major."""
        return list(itertools.product(*self.kept))


def sample_indices(shape: Sequence[int], maximum_cells: int) -> Sample:
    """At most `maximum_cells` indices of a tensor: the longest dimensions are thinned first."""
    sizes = list(shape)
    steps = [1] * len(sizes)
    while math.prod(sizes) > maximum_cells:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        steps[longest] *= 2
        sizes[longest] = -(-shape[longest] // steps[longest])
    kept = tuple(tuple(range(0, size, step)) for size, step in zip(shape, steps, strict=True))
    return Sample(kept, _words(shape, sizes, steps))


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


def element_offset(index: Sequence[int], stride: Sequence[int], storage_offset: int) -> int:
    """Number of the element in its storage, counted in elements of the tensor's dtype."""
    return storage_offset + sum(i * s for i, s in zip(index, stride, strict=True))


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
