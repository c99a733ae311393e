"""The operations and allocator events of a profile as columns: numbers only, no torch."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from engine.graph.columns import Coded, Integers, integers, optional
from engine.runner.contract import Array

Phase = Literal["forward", "backward", "recompute", "optimizer step"]
"""`recompute`: a forward that a checkpoint runs again inside backward."""


class Operations(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Every event of the profile that has a duration, in the order of its start; a parent stands before its children.

    `row` is its place in the table, `parent` the event around it, `sequence_nr` autograd's number, `forward` for the
    engine's `evaluate_function: ...` the forward operation that recorded the node; the last three may be missing.
    """

    row: Array
    parent: Array
    start_ns: Array
    duration_ns: Array
    sequence_nr: Array
    forward: Array
    phase: Coded[Phase]

    def __len__(self) -> int:
        return self.row.shape[0]

    @cached_property
    def rows(self) -> Integers:
        return integers(self.row)

    @cached_property
    def parents(self) -> Integers:
        """-1 where nothing is around it."""
        return optional(self.parent)

    @cached_property
    def starts_ns(self) -> Integers:
        return integers(self.start_ns)

    @cached_property
    def durations_ns(self) -> Integers:
        return integers(self.duration_ns)

    @cached_property
    def sequence_nrs(self) -> Integers:
        return optional(self.sequence_nr)

    @cached_property
    def forwards(self) -> Integers:
        """-1 where it is no backward of a recorded operation."""
        return optional(self.forward)

    @cached_property
    def phases(self) -> list[Phase]:
        return self.phase.values()

    @cached_property
    def depths(self) -> Integers:
        """How many events are around each."""
        found = integers(self.row) * 0
        for place, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                found[place] = found[parent] + 1
        return found


class Allocations(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What the allocator did, in order of time: `bytes` at `address` (from the lowest seen) given out or taken back.

    `operation` is the innermost operation in which it happened, missing outside of any.
    """

    address: Array
    bytes: Array
    time_ns: Array
    operation: Array
    is_free: Array

    def __len__(self) -> int:
        return self.bytes.shape[0]

    @cached_property
    def sizes(self) -> Integers:
        return integers(self.bytes)

    @cached_property
    def addresses(self) -> Integers:
        return integers(self.address)

    @cached_property
    def times_ns(self) -> Integers:
        return integers(self.time_ns)

    @cached_property
    def operations(self) -> Integers:
        """-1 outside of any operation."""
        return optional(self.operation)

    @cached_property
    def frees(self) -> Integers:
        """1 where a block was taken back, 0 where one was given out."""
        return integers(self.is_free)
