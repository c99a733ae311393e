"""What each block of a model keeps for backward and takes to run again: what a search adds up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

OUTSIDE = -1
"""Stands for everything before and after the blocks."""

Groups = tuple[tuple[int, int], ...]
"""(first, after): runs of blocks that are one checkpoint each."""


@dataclass(frozen=True)
class Storage:
    """Bytes that one forward keeps: who saves it, and which blocks it is the input of."""

    nbytes: int
    saved_by: frozenset[int]
    input_of: frozenset[int] = frozenset()


@dataclass
class BlockOperation:
    """One operation of a block's forward. `is_run_again`: something is saved after it, so a checkpoint needs it again.

    Recomputation stops as soon as the last saved tensor is back: what follows never runs twice.
    """

    name: str
    flops: int
    is_run_again: bool = False
    made: tuple[int, ...] = ()
    """Storages of its results, by number."""
    seconds: float = 0.0


@dataclass
class BlockCosts:
    """Everything a search needs to know of a model, from one step with tensors that hold nothing.

    `forward_bytes`, `backward_bytes`: for the forward and the backward of each block, the most bytes that lived less
    what was kept for backward by then. `between_bytes`: the same from the last block's forward to its backward.
    `outside_bytes`: the same before the first block and after its backward.
    """

    storages: dict[int, Storage]
    changed: set[int]
    """Storages that an operation has written to after they were made: a selective checkpoint cannot keep those."""
    operations: list[list[BlockOperation]]
    saving: set[int]
    """Blocks that save anything, a weight included. Of the others (frozen, and nothing before them that learns) a
    checkpoint keeps nothing."""
    forward_bytes: list[int] = field(default_factory=list)
    backward_bytes: list[int] = field(default_factory=list)
    between_bytes: int = 0
    outside_bytes: int = 0
    state_bytes: int = 0
    """Of the generator's state, of which each checkpoint takes one."""

    @property
    def blocks(self) -> int:
        return len(self.operations)

    @cached_property
    def flops(self) -> list[int]:
        """FLOPs of each block's forward."""
        return [sum(one.flops for one in block) for block in self.operations]

    @cached_property
    def tail_flops(self) -> list[int]:
        """Of those, what a checkpoint that ends with the block does not run again."""
        return [sum(one.flops for one in block if not one.is_run_again) for block in self.operations]

    @cached_property
    def _flops_before(self) -> list[int]:
        return [0, *accumulate(self.flops)]

    def group_flops(self, first: int, after: int) -> int:
        """FLOPs of running blocks first..after-1 again."""
        if not self.live(((first, after),)):
            return 0
        return self._flops_before[after] - self._flops_before[first] - self.tail_flops[after - 1]

    def recomputed_flops(self, groups: Groups) -> int:
        return sum(self.group_flops(first, after) for first, after in groups)

    def recomputed_s(self, groups: Groups) -> float:
        """Seconds of the same operations, measured one by one in a plain forward; estimated."""
        total = 0.0
        for first, after in self.live(groups):
            for number in range(first, after):
                last = number == after - 1
                total += sum(one.seconds for one in self.operations[number] if one.is_run_again or not last)
        return total

    def held_bytes(self, groups: Groups) -> int:
        """Bytes kept between forward and backward: what plain blocks save, and the input of each group."""
        return self.alive(self.plain(groups) | {OUTSIDE}, {first for first, _ in self.live(groups)})

    def live(self, groups: Groups) -> Groups:
        """The groups that backward needs: some block of them saves something."""
        return tuple(group for group in groups if not self.saving.isdisjoint(range(*group)))

    def plain(self, groups: Groups) -> set[int]:
        """Blocks in no group."""
        return set(range(self.blocks)).difference(*(range(*group) for group in groups))

    def alive(self, saving: set[int], inputs: set[int], running: int = OUTSIDE) -> int:
        """Bytes these blocks save or were called with; not the input of the one that is running, which lives anyway."""
        return sum(
            one.nbytes
            for one in self.storages.values()
            if running not in one.input_of and not (one.saved_by.isdisjoint(saving) and one.input_of.isdisjoint(inputs))
        )

    def saved_together(self, blocks: Iterable[int]) -> int:
        """Bytes that running these blocks again brings back at once."""
        return self.alive(set(blocks), set())

    def peak_bytes(self, groups: Groups) -> int:
        """Most bytes alive during the step; estimated.

        Each stretch of a plain step is taken as it was, less what it kept by then, plus what is kept by then under
        `groups`: in backward of a group also all that its blocks up to this one save.
        """
        plain = self.plain(groups)
        first_of = {number: first for first, after in groups for number in range(first, after)}
        starts = {first for first, _ in self.live(groups)}
        between = self.between_bytes + self.held_bytes(groups) + self.state_bytes * len(self.live(groups))
        peak = max(between, self.outside_bytes + self.alive({OUTSIDE}, set()))
        for number in range(self.blocks):
            first = first_of.get(number, number)
            kept = {one for one in plain if one < first} | {OUTSIDE}
            before = {one for one in starts if one <= first}
            states = self.state_bytes * len(before)
            forward = states + self.alive(kept, before, number)
            backward = states + self.alive(kept | set(range(first, number + 1)), before)
            peak = max(peak, self.forward_bytes[number] + forward, self.backward_bytes[number] + backward)
        return peak

    def selective_bytes(self, keep: frozenset[str]) -> int:
        """Bytes kept when each block is a checkpoint that keeps the results of the operations named."""
        live = [self.operations[block] for block in self.saving]
        kept = {number for block in live for one in block if one.name in keep for number in one.made}
        return sum(
            one.nbytes
            for number, one in self.storages.items()
            if number in kept or OUTSIDE in one.saved_by or not one.input_of.isdisjoint(self.saving)
        )

    def selective_flops(self, keep: frozenset[str]) -> int:
        return sum(one.flops for one in self._again(keep))

    def selective_s(self, keep: frozenset[str]) -> float:
        return sum(one.seconds for one in self._again(keep))

    def _again(self, keep: frozenset[str]) -> list[BlockOperation]:
        return [one for block in self.operations for one in block if one.is_run_again and one.name not in keep]
