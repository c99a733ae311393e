"""Who freed what whom had allocated: every block of a profile followed by its address."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.graph.columns import column, optional_column
from engine.profiler.columns import Allocations
from engine.profiler.spec import Alive, Flow
from engine.recorded_profiler import Allocation

Placed = tuple[int | None, Allocation]
"""The number of the operation around it, and what the allocator did."""


@dataclass
class Followed:
    """Blocks by (row that allocated, row that freed), bytes and counts by row, and what is alive at the end."""

    blocks: Counter[tuple[int | None, int | None]] = field(default_factory=Counter)
    bytes: Counter[tuple[int | None, int | None]] = field(default_factory=Counter)
    allocated: Counter[int] = field(default_factory=Counter)
    allocations: Counter[int] = field(default_factory=Counter)
    freed: Counter[int] = field(default_factory=Counter)
    frees: Counter[int] = field(default_factory=Counter)
    freed_earlier: int = 0
    alive: list[Alive] = field(default_factory=list)
    peak: int = 0

    def flows(self) -> tuple[Flow, ...]:
        """Largest first."""
        keys = sorted(self.bytes, key=lambda key: -self.bytes[key])
        return tuple(Flow(*key, self.blocks[key], self.bytes[key]) for key in keys)

    def _count(self, key: tuple[int | None, int | None], size: int) -> None:
        self.blocks[key] += 1
        self.bytes[key] += size


def follow_blocks(placed: list[Placed], rows: list[int], memory_row: int, names: dict[int, str]) -> Followed:
    """Join allocations and frees by address, in order of time; `memory_row` takes what happens in no operation."""
    found, live, running = Followed(), dict[int, tuple[int, int]](), 0
    for operation, one in placed:
        row, size = memory_row if operation is None else rows[operation], abs(one.bytes)
        running += one.bytes
        found.peak = max(found.peak, running)
        if one.bytes >= 0:
            live[one.address] = (row, size)
            found.allocated[row] += size
            found.allocations[row] += 1
            continue
        found.freed[row] += size
        found.frees[row] += 1
        maker = live.pop(one.address, None)
        found.freed_earlier += size if maker is None else 0
        found._count((None if maker is None else maker[0], row), size)
    for address, (row, size) in live.items():
        found._count((row, None), size)
        found.alive.append(Alive(names.get(address, ""), size, row))
    found.alive.sort(key=lambda one: -one.bytes)
    return found


def allocation_columns(placed: list[Placed], begin_ns: int) -> Allocations:
    """What the allocator did as columns; addresses count from the lowest one seen."""
    lowest = min((one.address for _, one in placed), default=0)
    return Allocations(
        address=column([one.address - lowest for _, one in placed]),
        bytes=column([abs(one.bytes) for _, one in placed]),
        time_ns=column([max(one.time_ns - begin_ns, 0) for _, one in placed]),
        operation=optional_column([operation for operation, _ in placed]),
        is_free=column([int(one.bytes < 0) for _, one in placed]),
    )
