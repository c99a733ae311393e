"""What the pictures of a profile show: rows in order of the bytes they moved, the rest summed into one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from engine.figures.units import format_exact_bytes
from engine.profiler.spec import MEMORY_ROW, Operation, Profiled

SHOWN = 12
LONGEST_NAME = 40
ENGINE = "autograd::engine::evaluate_function: "
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_AROUND = ("engine/profiler/", "engine/runner/", "torch/profiler/", "torch/autograd/profiler.py", "<string>(")


class Bar(msgspec.Struct, frozen=True):
    """One row of the picture: places of its rows in the table, bytes allocated and freed in the operation itself."""

    label: str
    places: tuple[int, ...]
    allocated: int
    freed: int
    words: str

    @property
    def net(self) -> int:
        return self.allocated - self.freed


def row_label(row: Operation) -> str:
    """Its name without addresses of objects, and its shapes where the table is grouped by them."""
    name = _ADDRESS.sub("", row.name)
    return f"{name} {row.shapes}" if row.shapes else name


def is_around(row: Operation) -> bool:
    """With stacks: a Python call that starts or ends the profile, around what is profiled; it moved no bytes itself."""
    return row.name.startswith(_AROUND) and not row.allocations and not row.frees


def node_first(name: str) -> str:
    """A name for a narrow column: of the engine's evaluations the node stands first."""
    return f"{name.removeprefix(ENGINE)} (evaluate_function)" if name.startswith(ENGINE) else name


def labels_of(rows: Sequence[Operation]) -> list[str]:
    """`row_label` of each, numbered where one occurs twice."""
    found: dict[str, int] = {}
    labels = []
    for row in rows:
        label = row_label(row)
        found[label] = found.get(label, 0) + 1
        labels.append(label if found[label] == 1 else f"{label} ({found[label]})")
    return labels


def short(name: str) -> str:
    """A name as an axis shows it: the engine's long prefix becomes three dots."""
    name = f"…evaluate: {name.removeprefix(ENGINE)}" if name.startswith(ENGINE) else name
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def memory_bars(profiled: Profiled, selected: int | None = None) -> list[Bar]:
    """The rows that moved most bytes, at most SHOWN, `selected` among them, then the sum of the rest."""
    rows = profiled.rows
    moving = [place for place, row in enumerate(rows) if row.allocations or row.frees]
    moving.sort(key=lambda place: -(rows[place].allocated_bytes + rows[place].freed_bytes))
    shown = moving[:SHOWN]
    if selected is not None and selected in moving[SHOWN:]:
        shown = [*shown[:-1], selected]
    rest = tuple(place for place in moving if place not in shown)
    bars = [_bar(short(row_label(rows[place])), (place,), rows) for place in shown]
    return bars + ([_bar(f"{len(rest)} more rows", rest, rows)] if rest else [])


def _bar(label: str, places: tuple[int, ...], rows: Sequence[Operation]) -> Bar:
    chosen = [rows[place] for place in places]
    allocated, freed = (sum(row.allocated_bytes for row in chosen), sum(row.freed_bytes for row in chosen))
    name = label if len(chosen) > 1 else row_label(chosen[0])
    counts = (sum(row.allocations for row in chosen), sum(row.frees for row in chosen))
    words = (
        f"{name}: allocated {format_exact_bytes(allocated)} in {counts[0]} blocks, "
        f"freed {format_exact_bytes(freed)} in {counts[1]}, net {format_exact_bytes(allocated - freed)}"
    )
    return Bar(label, places, allocated, freed, words)


def default_row(profiled: Profiled) -> int:
    """The row that a reader asks about first: of the negative ones the most negative operation, else the largest."""
    rows = profiled.rows
    negative = [p for p, row in enumerate(rows) if row.allocated_bytes < row.freed_bytes and row.name != MEMORY_ROW]
    if negative:
        return min(negative, key=lambda place: rows[place].allocated_bytes - rows[place].freed_bytes)
    return max(range(len(rows)), key=lambda place: rows[place].allocated_bytes, default=0)
