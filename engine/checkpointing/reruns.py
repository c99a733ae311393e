"""Which operation of which block ran again in backward, and the node that its first run made."""

from __future__ import annotations

from collections import Counter, defaultdict

import torch

from engine import recorded
from engine.checkpointing.counted import Part
from engine.models.toggles import Step


class Reruns:
    """`watch` goes around the blocks, `note` sees every operation; an operation is known by block, name and turn.

    Not by how many nodes came before: under autocast a block that runs again casts weights anew that it found cast.
    """

    def __init__(self) -> None:
        self.times: Counter[int] = Counter()
        """How often the operation ran again, by the sequence number of its node."""
        self.block_times: Counter[int] = Counter()
        self.number_before: dict[int, int] = {}
        """By block: the newest sequence number when it first began; under a reentrant checkpoint, that one's node."""
        self._made: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        self._turn: Counter[tuple[int, str]] = Counter()
        self._block = -1
        self._newest = -1

    def watch(self, number: int, step: Step) -> Step:
        """Block `number`, noted whenever it runs."""

        def run(x: torch.Tensor) -> torch.Tensor:
            outer = self._block, self._turn
            self._block, self._turn, self._newest = number, Counter(), recorded.next_sequence_nr() - 1
            if number in self.number_before:
                self.block_times[number] += 1
            self.number_before.setdefault(number, self._newest)
            try:
                return step(x)
            finally:
                self._block, self._turn = outer

        return run

    def note(self, part: Part, operation: str) -> None:
        """An operation runs now."""
        key = self._block, operation
        if self._block < 0:
            return
        if part == "forward":
            newest = recorded.next_sequence_nr() - 1
            self._made[key].append(newest if newest > self._newest else -1)  # -1: it made no node
            self._newest = newest
        elif part == "again":
            turn, made = self._turn[key], self._made[key]
            self._turn[key] += 1
            if turn < len(made) and made[turn] >= 0:
                self.times[made[turn]] += 1

    def made_by(self, operations: tuple[str, ...]) -> frozenset[int]:
        """Sequence numbers of the nodes that these made inside of blocks."""
        return frozenset(at for (_, name), made in self._made.items() if name in operations for at in made if at >= 0)
