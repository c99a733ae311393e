"""Which runs of blocks to checkpoint: dynamic programming over the blocks, and torch's knapsacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine import recorded_search
from engine.checkpointing.cost import OUTSIDE, BlockCosts, Groups

MOST_UNITS = 64
"""Above this many blocks the groups begin and end at multiples of so many blocks that as many places are left."""


class Grouping(NamedTuple):
    """Groups with the bytes they keep and the FLOPs they run again."""

    held_bytes: int
    flops: int
    groups: Groups


class _Partial(NamedTuple):
    """The blocks up to here: bytes, FLOPs, and the way here as a chain of (last group or None, what came before)."""

    nbytes: int
    flops: int
    way: tuple[tuple[int, int] | None, _Partial] | None


Front = list[_Partial]
"""No entry has both fewer bytes and fewer FLOPs than another; in order of bytes."""


def best_groups(
    costs: BlockCosts, most_held: int | None = None, most_together: int | None = None
) -> tuple[Grouping, ...]:
    """Every trade of bytes kept for FLOPs run again that no other grouping beats, the fewest bytes first.

    `most_held` leaves out what keeps more; `most_together` groups that bring back more at once. Exact up to 64 blocks
    where a storage is saved by one block, or by a block and the one it hands it to; a storage that more blocks save
    counts once for each, so that bytes are never understated. Sound for any model: the result is evaluated again.
    """
    unit = -(-costs.blocks // MOST_UNITS)
    places = [*range(0, costs.blocks, unit), costs.blocks]
    prices = _Prices(costs)
    fronts: list[tuple[Front, Front]] = [([], []) for _ in places]
    fronts[0][0].append(_Partial(costs.alive({OUTSIDE}, set()), 0, None))
    for i, place in enumerate(places[:-1]):
        for plain_before in (False, True):
            front = _front(fronts[i][plain_before], most_held)
            _extend(prices, front, plain_before, place, places[i + 1 :], fronts[i + 1 :], most_together)
    ends = _front(fronts[-1][False] + fronts[-1][True], most_held)
    found = [Grouping(costs.held_bytes(groups), end.flops, groups) for end in ends for groups in [_groups(end)]]
    return tuple(found)


def _extend(
    prices: _Prices,
    front: Front,
    plain_before: bool,
    place: int,
    ends: list[int],
    fronts: list[tuple[Front, Front]],
    most_together: int | None,
) -> None:
    """Each entry of `front` with one more unit left plain, and with a group from here to each of `ends`."""
    plain, starting = prices.plain(place, ends[0], plain_before), prices.starting(place, plain_before)
    fronts[0][True].extend(_Partial(one.nbytes + plain, one.flops, (None, one)) for one in front)
    for after, (grouped, _) in zip(ends, fronts, strict=True):
        if most_together is not None and prices.costs.saved_together(range(place, after)) > most_together:
            break
        flops, group = prices.costs.group_flops(place, after), (place, after)
        begun = starting if prices.costs.live((group,)) else 0
        grouped.extend(_Partial(one.nbytes + begun, one.flops + flops, (group, one)) for one in front)


class _Prices:
    """What a block that runs plainly keeps, and what a group that begins at a block keeps."""

    def __init__(self, costs: BlockCosts) -> None:
        self.costs = costs
        self._saved: list[list[int]] = [[] for _ in range(costs.blocks)]
        self._inputs: list[list[int]] = [[] for _ in range(costs.blocks)]
        for number, one in costs.storages.items():
            if OUTSIDE not in one.saved_by:
                for block in one.saved_by:
                    self._saved[block].append(number)
                for block in one.input_of:
                    self._inputs[block].append(number)

    def plain(self, first: int, after: int, plain_before: bool) -> int:
        """Bytes that blocks first..after-1 save and the plain block before them does not."""
        found = {number for block in range(first, after) for number in self._saved[block]}
        return self._sum(found - self._already(first, plain_before))

    def starting(self, block: int, plain_before: bool) -> int:
        """Bytes of the input of `block` that the plain block before it does not save."""
        return self._sum(set(self._inputs[block]) - self._already(block, plain_before))

    def _already(self, block: int, plain_before: bool) -> set[int]:
        return set(self._saved[block - 1]) if plain_before else set()

    def _sum(self, numbers: set[int]) -> int:
        return sum(self.costs.storages[number].nbytes for number in numbers)


def _front(entries: Front, most_bytes: int | None) -> Front:
    kept: Front = []
    for one in sorted(entries, key=lambda entry: entry[:2]):
        if most_bytes is not None and one.nbytes > most_bytes:
            break
        if not kept or one.flops < kept[-1].flops:
            kept.append(one)
    return kept


def _groups(end: _Partial) -> Groups:
    found = []
    step = end.way
    while step is not None:
        group, before = step
        if group is not None:
            found.append(group)
        step = before.way
    return tuple(reversed(found))


def knapsack_groups(costs: BlockCosts, budget_bytes: int) -> tuple[tuple[str, Groups], ...]:
    """Blocks to leave plain by torch's knapsacks, every other one a checkpoint of its own; () where none fits.

    Their items are independent, so a block is worth what leaving it alone plain would add; memory is counted in
    parts of the budget (dp_knapsack in ten-thousandths), so a result can miss the budget: it is evaluated again.
    """
    each = tuple((number, number + 1) for number in range(costs.blocks))
    least = costs.held_bytes(each)
    room = budget_bytes - least
    if room <= 0:
        return ()
    extra = [costs.held_bytes(each[:number] + each[number + 1 :]) - least for number in range(costs.blocks)]
    memory = [max(nbytes, 1) / room for nbytes in extra]
    worth = [float(costs.group_flops(*one)) for one in each]
    solvers: dict[str, Callable[..., tuple[float, list[int], list[int]]]] = {
        "torch dp_knapsack over blocks": recorded_search.dp_knapsack,
        "torch greedy_knapsack over blocks": recorded_search.greedy_knapsack,
    }
    return tuple(
        (name, tuple(each[i] for i in sorted(solve(memory, worth, 1.0)[2]))) for name, solve in solvers.items()
    )
