"""What an einsum costs, without torch: the naive loop nest, and the cheapest order of pairwise contractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from engine.broadcasting.equation import Equation

SizeOf = Callable[[str], int]


class Cost(msgspec.Struct, frozen=True):
    """Multiplications and additions of one way to compute, and the elements of all its intermediate results.

    A sum of n terms counts n additions, the first into zero: 2 m k n for a matrix product, as
    torch.utils.flop_counter counts.
    """

    flops: int
    intermediate_elements: int
    path: tuple[tuple[int, int], ...] = ()
    """Positions contracted one after the other; each result goes to the end of the list."""


def naive_cost(equation: Equation, size_of: SizeOf) -> Cost:
    """One loop over every index: a product of all operands per step, added into the output."""
    steps = math.prod(map(size_of, equation.letters))
    additions = steps if set(equation.letters) - set(equation.output) else 0
    return Cost(steps * (len(equation.inputs) - 1) + additions, 0)


def path_cost(equation: Equation, size_of: SizeOf, path: Sequence[tuple[int, int]]) -> Cost:
    """Contract pairs in the order of `path`, summing each index as soon as nothing later needs it."""
    operands = [frozenset(operand) for operand in equation.inputs]
    flops = elements = 0
    for step, pair in enumerate(path):
        left, right = (operands[position] for position in pair)
        operands = [operand for position, operand in enumerate(operands) if position not in pair]
        kept = (left | right) & frozenset(equation.output).union(*operands)
        flops += _pair_flops(left | right, kept, size_of)
        operands.append(kept)
        elements += math.prod(map(size_of, kept)) if step < len(path) - 1 else 0
    return Cost(flops, elements, tuple((a, b) for a, b in path))


def _pair_flops(joined: frozenset[str], kept: frozenset[str], size_of: SizeOf) -> int:
    steps = math.prod(map(size_of, joined))
    return steps if joined == kept else 2 * steps


def left_to_right(equation: Equation) -> tuple[tuple[int, int], ...]:
    """The order torch.einsum takes without opt_einsum: the first two, then their result with the next."""
    count = len(equation.inputs)
    return tuple((0, 1) if step == 0 else (0, count - step - 1) for step in range(count - 1))


def cheapest_path(equation: Equation, size_of: SizeOf) -> Cost | None:
    """The order of pairs with the fewest FLOPs, by trying all of them; None with a single operand."""
    if len(equation.inputs) < 2:
        return None
    costs = (path_cost(equation, size_of, path) for path in _paths(len(equation.inputs)))
    return min(costs, key=lambda cost: (cost.flops, cost.intermediate_elements))


def _paths(count: int) -> Iterator[tuple[tuple[int, int], ...]]:
    if count == 1:
        yield ()
        return
    for first in range(count):
        for second in range(first + 1, count):
            for rest in _paths(count - 1):
                yield ((first, second), *rest)


def path_in_words(path: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """`((a · b) · c)` for a path over operands of these names."""
    operands = list(names)
    for pair in path:
        joined = " · ".join(sorted((operands[position] for position in pair), key=lambda name: -len(name)))
        operands = [name for position, name in enumerate(operands) if position not in pair] + [f"({joined})"]
    return operands[-1] if len(operands) == 1 else " · ".join(operands)
