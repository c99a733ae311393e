"""The policies a search looks at, with what each keeps and runs again by the costs of the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from engine import recorded_search
from engine.checkpointing.cost import BlockCosts, Groups
from engine.checkpointing.policy import MOST_KEPT, Policy
from engine.checkpointing.search_groups import MOST_UNITS, Grouping, best_groups, knapsack_groups
from engine.checkpointing.spec import Candidate

Budgeted = Literal["held_bytes", "peak_bytes"]
SHOWN = 12
"""Of the trades that dynamic programming finds, how many are shown beside the best that fits."""


@dataclass
class Option:
    """A policy, what found it, and its figures: modelled, then forecast; beside them what was counted in a run."""

    policy: Policy
    found_by: str
    nbytes: int
    flops: int
    seconds: float | None = None
    measured_bytes: int | None = None
    measured_flops: int | None = None

    @property
    def is_measured(self) -> bool:
        return self.measured_bytes is not None

    @property
    def known_bytes(self) -> int:
        """Counted where it was run, else forecast."""
        return self.nbytes if self.measured_bytes is None else self.measured_bytes

    @property
    def rank(self) -> tuple[int, bool, float, int]:
        """Least recomputed FLOPs first, of these off, then by the seconds of what is run again, then by bytes."""
        flops = self.flops if self.measured_flops is None else self.measured_flops
        return flops, self.policy != Policy(), self.seconds or 0.0, self.known_bytes

    def candidate(self, budget_bytes: int, chosen: Option | None) -> Candidate:
        """As the result says it."""
        return Candidate(
            policy=self.policy,
            found_by=self.found_by,
            budgeted_bytes=self.nbytes,
            measured_bytes=self.measured_bytes,
            recomputed_flops=self.flops,
            recomputed_s=self.seconds,
            fits=self.known_bytes <= budget_bytes,
            chosen=self is chosen,
        )


class Options:
    """Makes options of one model for one budget."""

    def __init__(self, costs: BlockCosts, budget_bytes: int, budget_of: Budgeted, timed: bool) -> None:
        self.costs = costs
        self.budget_bytes = budget_bytes
        self.budget_of = budget_of
        self.timed = timed

    def every(self, selective: bool) -> list[Option]:
        """Each policy once, with all that found it, simple ones first: of two that are as good the first is taken."""
        found = [self.of_groups(Policy(), "off", ())]
        if self.costs.blocks:
            found += [*self._uniform(), *self._by_programming(), *self._by_knapsack()]
            found += self._selective() if selective else ()
        once: dict[Policy, Option] = {}
        for option in found:
            first = once.setdefault(option.policy, option)
            if option.found_by not in first.found_by.split(", "):
                first.found_by += f", {option.found_by}"
        return list(once.values())

    def of_groups(self, policy: Policy, found_by: str, groups: Groups) -> Option:
        """`policy` by the runs of blocks it checkpoints."""
        seconds = self.costs.recomputed_s(groups) if self.timed else None
        return Option(policy, found_by, self.bytes_of(groups), self.costs.recomputed_flops(groups), seconds)

    def bytes_of(self, groups: Groups) -> int:
        """Of what the budget is on."""
        return self.costs.held_bytes(groups) if self.budget_of == "held_bytes" else self.costs.peak_bytes(groups)

    def _uniform(self) -> Iterator[Option]:
        blocks = self.costs.blocks
        if (root := root_segments(blocks)) is not None:
            yield self.of_groups(root, "√n segments", segment_groups(blocks, root.segments))
        for count in _spread(2, blocks):
            groups = segment_groups(blocks, count)
            yield self.of_groups(Policy(kind="segments", segments=count), "every number of segments", groups)
        for k in _spread(2, blocks):
            groups = tuple((number, number + 1) for number in range(0, blocks, k))
            yield self.of_groups(Policy(kind="every_k", k=k), "every k", groups)
        yield self.of_groups(Policy(kind="each_block"), "each block", _each(blocks))

    def _by_programming(self) -> Iterator[Option]:
        found = [*best_groups(self.costs)] if self.budget_of == "held_bytes" else self._for_peak()
        shown = {id(one) for one in (found[i] for i in _spread(0, len(found) - 1, SHOWN))}
        fitting = [one for one in found if self.bytes_of(one.groups) <= self.budget_bytes]
        best = sorted(fitting, key=lambda one: one.flops)[:3]
        for one in found:
            if one.groups and (id(one) in shown or one in best):
                policy = Policy(kind="groups", groups=one.groups)
                yield self.of_groups(policy, "groups by dynamic programming", one.groups)

    def _for_peak(self) -> list[Grouping]:
        """For each most that a group may bring back at once, the grouping of fewest FLOPs whose peak fits.

        Peak grows with what is kept, so it is found by halving; beside them those of the smallest peak.
        """
        blocks = self.costs.blocks
        limits = {self.costs.saved_together(range(length)) for length in _spread(1, blocks, SHOWN)}
        limits |= {self.costs.saved_together(range(blocks - length, blocks)) for length in _spread(1, blocks, SHOWN)}
        found: dict[Groups, Grouping] = {}
        for limit in sorted(limits):
            front = best_groups(self.costs, most_together=limit)
            low, high = 0, len(front)
            while low < high:
                middle = (low + high) // 2
                fits = self.bytes_of(front[middle].groups) <= self.budget_bytes
                low, high = (middle + 1, high) if fits else (low, middle)
            for one in front[max(0, low - 2) : low + 1] + front[:1]:
                found[one.groups] = one
        return sorted(found.values(), key=lambda one: -one.flops)

    def _by_knapsack(self) -> Iterator[Option]:
        room = self.budget_bytes
        if self.budget_of == "peak_bytes":  # what is kept beside the rest of the peak
            each = _each(self.costs.blocks)
            room += self.costs.held_bytes(each) - self.costs.peak_bytes(each)
        for name, groups in knapsack_groups(self.costs, room):
            if groups:
                yield self.of_groups(Policy(kind="groups", groups=groups), name, groups)

    def _selective(self) -> Iterator[Option]:
        yield self.of_kept(frozenset(), "selective keeping nothing")
        for found_by, keep in selections(self.costs, self.budget_bytes):
            yield self.of_kept(keep, found_by)

    def of_kept(self, keep: frozenset[str], found_by: str) -> Option:
        """Each block a checkpoint that keeps the results of these operations."""
        costs, each = self.costs, _each(self.costs.blocks)
        nbytes = costs.selective_bytes(keep)
        if self.budget_of == "peak_bytes":
            nbytes += costs.peak_bytes(each) - costs.held_bytes(each)
        policy = Policy(kind="selective", keep=tuple(sorted(keep)))
        seconds = costs.selective_s(keep) if self.timed else None
        return Option(policy, found_by, nbytes, costs.selective_flops(keep), seconds)


def selections(costs: BlockCosts, budget_bytes: int) -> Iterator[tuple[str, frozenset[str]]]:
    """(what found it, operations whose results to keep): in order of FLOPs saved per byte, and by torch's knapsacks.

    The order is the one of torch's SACEstimator, which itself asks CUDA for its speed and runs nowhere else.
    """
    nothing = frozenset[str]()
    base_bytes, base_flops = costs.selective_bytes(nothing), costs.selective_flops(nothing)
    base_s = costs.selective_s(nothing)
    worth: dict[str, tuple[int, float, int]] = {}
    for name in _keepable(costs):
        alone = frozenset({name})
        extra = costs.selective_bytes(alone) - base_bytes
        worth[name] = base_flops - costs.selective_flops(alone), base_s - costs.selective_s(alone), max(1, extra)
    names = sorted(worth, key=lambda name: (-worth[name][0] / worth[name][2], -worth[name][1] / worth[name][2], name))
    for count in range(1, min(len(names), MOST_KEPT, SHOWN) + 1):
        yield "selective by FLOPs saved per byte", frozenset(names[:count])
    if (room := budget_bytes - base_bytes) > 0 and names:
        memory, value = [worth[name][2] / room for name in names], [float(worth[name][0]) for name in names]
        yield "torch dp_knapsack over operations", _named(names, recorded_search.dp_knapsack(memory, value, 1.0)[1])
        yield (
            "torch greedy_knapsack over operations",
            _named(names, recorded_search.greedy_knapsack(memory, value, 1.0)[1]),
        )


def _keepable(costs: BlockCosts) -> list[str]:
    """Operations that are run again, make storages of their own and whose results nothing is written to later."""
    made: dict[str, set[int]] = {}
    for block in costs.operations:
        for one in block:
            made.setdefault(one.name, set()).update(one.made)
    again = {one.name for block in costs.operations for one in block if one.is_run_again}
    return sorted(name for name in again if made[name] and made[name].isdisjoint(costs.changed))


def _named(names: list[str], chosen: Iterable[int]) -> frozenset[str]:
    return frozenset(names[number] for number in [*chosen][:MOST_KEPT])


def root_segments(blocks: int) -> Policy | None:
    """About sqrt(n) segments; None for a single block, which is no sequence."""
    return Policy(kind="segments", segments=max(2, round(math.sqrt(blocks)))) if blocks > 1 else None


def segment_groups(blocks: int, segments: int) -> Groups:
    """As torch's checkpoint_sequential cuts them: equal ones, and the last runs plainly with what is left over."""
    length = blocks // segments
    return tuple((i * length, (i + 1) * length) for i in range(segments - 1))


def _each(blocks: int) -> Groups:
    return tuple((number, number + 1) for number in range(blocks))


def _spread(low: int, high: int, most: int = MOST_UNITS) -> list[int]:
    """Whole numbers from low to high, all of them or `most` at equal distances, both ends among them."""
    count = high - low + 1
    if count <= most:
        return list(range(low, high + 1))
    return sorted({low + round(i * (count - 1) / (most - 1)) for i in range(most)})
