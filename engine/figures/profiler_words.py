"""A profile in words: what a row of the table says, and why its bytes are what they are."""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec

from engine.figures.profiler_flow import ALIVE, BEFORE
from engine.figures.profiler_rows import labels_of
from engine.figures.units import format_bytes, format_count, format_exact_bytes
from engine.profiler.spec import MEMORY_ROW, Operation, Profiled

NAMED = 3
"""Rows named in one sentence."""


class Column(msgspec.Struct, frozen=True):
    """A column of the table: its title as torch prints it, the attribute of a row of key_averages(), and in words."""

    title: str
    attribute: str
    words: str

    @property
    def read_from(self) -> str:
        """`row.count`, or in words what is no attribute of a row."""
        return f"`row.{self.attribute}`" if self.attribute.isidentifier() else self.attribute


COLUMNS: tuple[Column, ...] = (
    Column("Name", "key", "The operation as the dispatcher knows it; every call of that name is one row."),
    Column("Self Mem", "self_cpu_memory_usage", "Allocated minus freed inside the operation itself, calls left out."),
    Column("Allocated", "allocation events", "Bytes given out inside the operation itself. torch does not print this."),
    Column("Freed", "allocation events", "Bytes taken back inside the operation itself, whoever had allocated them."),
    Column("CPU Mem", "cpu_memory_usage", "The same with every operation it called: allocated minus freed meanwhile."),
    Column("# of Calls", "count", "How often it ran; several calls are added up in all other columns."),
    Column("recomputed", "calls in backward with a sequence_nr", "Calls by a forward that a checkpoint ran again."),
    Column("Self CPU", "self_cpu_time_total", "Time in the operation itself, profiler included; calls left out."),
    Column("CPU total", "cpu_time_total", "Time with every operation it called: rows overlap, do not add them up."),
    Column("CPU time avg", "cpu_time", "CPU total / # of Calls."),
    Column("MFLOPs", "flops", "By formula from the shapes, for products and convolutions alone; empty elsewhere."),
    Column("source", "innermost Python call around it", "With with_stack: the line that called it most often."),
    Column("Input Shapes", "input_shapes", "Only when grouped by them: otherwise one row holds calls of any shape."),
)


def code(name: str) -> str:
    """A name as markdown code, where nothing else in it is read as markup."""
    return f"`{name.replace('`', 'ˋ')}`"


def row_words(profiled: Profiled, place: int) -> str:
    """The row in two or three sentences, as markdown."""
    row = profiled.rows[place]
    if row.name == MEMORY_ROW:
        return _memory_row_words(profiled, place)
    name = code(row.name)
    calls = "once" if row.calls == 1 else f"{format_count(row.calls)} times"
    again = f" ({format_count(row.recomputed_calls)} of them recomputed)" if row.recomputed_calls else ""
    return (
        f"{name} ran {calls}{again}. {_own_words(row)} {_freed_words(profiled, place)}{_called_words(profiled, place)}"
    )


def _own_words(row: Operation) -> str:
    own = row.allocated_bytes - row.freed_bytes
    if not row.allocations and not row.frees:
        return "It allocates and frees nothing itself, so its Self Mem is 0."
    if not row.frees:
        return f"It allocated {_in_blocks(row.allocated_bytes, row.allocations)} itself and freed nothing."
    taken = _in_blocks(row.freed_bytes, row.frees)
    if not row.allocations:
        return f"It allocated nothing itself and freed {taken}: that is all a negative Self Mem says."
    sign = "more than it allocated, so the row is negative" if own < 0 else "and the row shows the difference"
    return f"It allocated {_in_blocks(row.allocated_bytes, row.allocations)} itself and freed {taken}, {sign}."


def _in_blocks(size: int, blocks: int) -> str:
    return f"{format_exact_bytes(size)} in {format_count(blocks)} block{'s' if blocks > 1 else ''}"


def _freed_words(profiled: Profiled, place: int) -> str:
    rows = profiled.rows
    makers = Counter[str]()
    for flow in profiled.flows:
        if flow.freed_by == place:
            makers[BEFORE if flow.allocated_by is None else code(rows[flow.allocated_by].name)] += flow.bytes
    if not makers:
        return ""
    told = [f"{name} ({format_bytes(size)})" for name, size in makers.most_common(NAMED)]
    more = f" and {len(makers) - NAMED} more" if len(makers) > NAMED else ""
    return f"What it freed came from {', '.join(told)}{more}. "


def _called_words(profiled: Profiled, place: int) -> str:
    row = profiled.rows[place]
    inside = row.cpu_bytes - row.self_cpu_bytes
    if not inside:
        return ""
    named = [f"{code(name)} ({format_bytes(size)})" for name, size in called(profiled, place)[:NAMED]]
    return (
        f"CPU Mem is {format_exact_bytes(row.cpu_bytes)}: the operations it called add {format_exact_bytes(inside)}"
        + (f", most of it {', '.join(named)}." if named else ".")
    )


def called(profiled: Profiled, place: int) -> list[tuple[str, int]]:
    """(name, allocated minus freed) of the rows whose operations ran inside those of this row, largest change first."""
    operations, allocations = profiled.operations, profiled.allocations
    own: defaultdict[int, int] = defaultdict(int)
    inside = [False] * len(operations)
    for number, parent in enumerate(operations.parents.tolist()):
        inside[number] = parent >= 0 and (inside[parent] or int(operations.rows[parent]) == place)
    signed = allocations.sizes * (1 - 2 * allocations.frees)
    for operation, size in zip(allocations.operations.tolist(), signed.tolist(), strict=True):
        if operation >= 0 and inside[operation] and int(operations.rows[operation]) != place:
            own[int(operations.rows[operation])] += size
    ordered = sorted(own.items(), key=lambda one: -abs(one[1]))
    return [(profiled.rows[row].name, size) for row, size in ordered if size]


def _memory_row_words(profiled: Profiled, place: int) -> str:
    row = profiled.rows[place]
    opening = (
        f"`[memory]` is no operation. It sums what the allocator did between operations: {format_count(row.frees)} "
        f"frees ({format_bytes(row.freed_bytes)}), when Python or autograd let go of a tensor's last reference"
    )
    given = (
        f", and {format_count(row.allocations)} allocations ({format_bytes(row.allocated_bytes)}) by code that is no "
        f"operation, as the RNG state that a checkpoint keeps"
        if row.allocations
        else ""
    )
    return f"{opening}{given}. {_freed_words(profiled, place)}"


def sum_words(profiled: Profiled) -> str:
    """What all rows of Self Mem add up to, as markdown."""
    earlier = profiled.freed_earlier_bytes
    less = f", less {format_exact_bytes(earlier)} freed that had been there before" if earlier else ""
    largest = Counter[str]()
    for one in profiled.alive:
        largest[kind_of(one.name)] += one.bytes
    told = ", ".join(f"{name} {format_bytes(size)}" for name, size in largest.most_common(NAMED + 1))
    held = f" ({told})" if told else ""
    return (
        f"All rows of Self Mem add up to {format_exact_bytes(profiled.sum_self_bytes)}: what is still alive at the "
        f"end{held}{less}."
    )


def kind_of(name: str) -> str:
    """The kind of what refers to a block, as in "gradients" for any `.grad`."""
    if name.endswith(".grad"):
        return "gradients"
    if name.endswith("(saved for backward)"):
        return "saved for backward"
    if name.endswith("(optimizer state)"):
        return "optimizer state"
    if name.startswith("output"):
        return "outputs"
    if name.startswith("RNG state"):
        return "RNG states"
    return name or "nothing we can name"


def flow_rows(profiled: Profiled, place: int | None = None) -> list[tuple[str, str, int, int]]:
    """(allocated by, freed by, blocks, bytes), largest first; of one row where `place` is given."""
    names = labels_of(profiled.rows)
    return [
        (
            BEFORE if flow.allocated_by is None else names[flow.allocated_by],
            ALIVE if flow.freed_by is None else names[flow.freed_by],
            flow.blocks,
            flow.bytes,
        )
        for flow in profiled.flows
        if place is None or place in (flow.allocated_by, flow.freed_by)
    ]


def alive_rows(profiled: Profiled) -> list[tuple[str, str, str, int]]:
    """(kind, what refers to it, allocated by, bytes) of each block alive at the end, largest first."""
    names = labels_of(profiled.rows)
    return [
        (kind_of(one.name), one.name, BEFORE if one.allocated_by is None else names[one.allocated_by], one.bytes)
        for one in profiled.alive
    ]
