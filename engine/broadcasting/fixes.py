"""Changes to one operand that would make shapes fit: where to unsqueeze, what to transpose; without torch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import msgspec

from engine.broadcasting.rule import NAMES, Shape, operation_alignment

MOST_FIXES = 4
MOST_DIMS = 6


class Fix(msgspec.Struct, frozen=True):
    """Permute the dims of one operand, then put dims of size 1 at `unsqueezed` (positions in the outcome)."""

    operand: int
    permutation: tuple[int, ...]
    unsqueezed: tuple[int, ...] = ()

    @property
    def is_permuted(self) -> bool:
        return self.permutation != tuple(range(len(self.permutation)))

    def applied(self, shape: Shape) -> Shape:
        """The operand's shape afterwards."""
        sizes = iter([shape[dim] for dim in self.permutation])
        dims = len(shape) + len(self.unsqueezed)
        return tuple(1 if position in self.unsqueezed else next(sizes) for position in range(dims))

    @property
    def code(self) -> str:
        """As Python text: `b.transpose(0, 1)`, `b.unsqueeze(-1)`, `b[:, None, None]`."""
        text = NAMES[self.operand]
        if self.is_permuted:
            first, second = (n for n, dim in enumerate(self.permutation) if n != dim)
            is_matrix = (first, second) == (len(self.permutation) - 2, len(self.permutation) - 1)
            text += ".mT" if is_matrix else f".transpose({first}, {second})"
        dims = len(self.permutation) + len(self.unsqueezed)
        if len(self.unsqueezed) == 1:
            position = self.unsqueezed[0]
            return f"{text}.unsqueeze({-1 if position == dims - 1 else position})"
        if self.unsqueezed:
            return f"{text}[{', '.join('None' if n in self.unsqueezed else ':' for n in range(dims))}]"
        return text


def suggest_fixes(operation: str, shapes: Sequence[Shape]) -> tuple[Fix, ...]:
    """The gentlest changes that make the rule accept the shapes, best first; empty when one operand is not enough.

    Best is what does not grow the result above every operand, keeps the order of dims, and adds the fewest.
    """
    most = max(map(len, shapes))
    found: dict[tuple[int, Shape], tuple[tuple[bool, bool, int, int, int], Fix]] = {}
    for number, shape in enumerate(shapes):
        for fix in _changes(number, shape, most):
            changed = fix.applied(shape)
            candidate = [*shapes[:number], changed, *shapes[number + 1 :]]
            result = operation_alignment(operation, candidate).shape
            if result is not None and not (fix.is_permuted and grows(operation, shapes, result)):
                rank = (grows(operation, shapes, result), *_rank(fix, shapes))
                key = (number, changed)
                found[key] = min(found.get(key, (rank, fix)), (rank, fix), key=lambda entry: entry[0])
    fewest: dict[tuple[int, tuple[int, ...]], int] = {}
    kept = []
    for _, fix in sorted(found.values(), key=lambda entry: entry[0]):
        if len(fix.unsqueezed) <= fewest.setdefault((fix.operand, fix.permutation), len(fix.unsqueezed)):
            kept.append(fix)
    return tuple(kept[:MOST_FIXES])


def _rank(fix: Fix, shapes: Sequence[Shape]) -> tuple[bool, int, int, int]:
    return fix.is_permuted, len(fix.unsqueezed), math.prod(shapes[fix.operand]), -fix.operand


def grows(operation: str, shapes: Sequence[Shape], result: Shape) -> bool:
    """Whether the result is larger than every operand; of a matrix product only the batch dims are compared."""
    if operation != "matmul":
        return math.prod(result) > max(math.prod(shape) for shape in shapes)
    kept = sum(len(shape) > 1 for shape in shapes)
    return math.prod(result[: len(result) - kept]) > max(math.prod(shape[:-2]) for shape in shapes)


def _changes(number: int, shape: Shape, most: int) -> Iterator[Fix]:
    """Every transposition of two dims, and every place for dims of size 1 that does not merely stand in front."""
    dims = len(shape)
    for permutation in _transpositions(dims):
        yield Fix(number, permutation)
        for added in range(1, max(most, dims + 1) - dims + 1):
            if dims + added > MOST_DIMS:
                break
            for places in itertools.combinations(range(1, dims + added), added):
                yield Fix(number, permutation, places)


def _transpositions(dims: int) -> Iterator[tuple[int, ...]]:
    straight = tuple(range(dims))
    yield straight
    for first, second in itertools.combinations(range(dims), 2):
        swapped = list(straight)
        swapped[first], swapped[second] = second, first
        yield tuple(swapped)
