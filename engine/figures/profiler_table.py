"""torch's table with our columns beside it, as rows of plain numbers that sort."""

from __future__ import annotations

from engine.figures.csv_text import csv_text
from engine.figures.profiler_rows import labels_of
from engine.profiler.spec import Operation, Profiled

TABLE_COLUMNS = (
    "Name",
    "Self Mem, B",
    "Allocated, B",
    "Freed, B",
    "CPU Mem, B",
    "# of Calls",
    "recomputed",
    "Self CPU, µs",
    "CPU total, µs",
    "CPU time avg, µs",
    "MFLOPs",
    "Input Shapes",
    "source",
)
MICROSECONDS = 1e6
Cell = str | int | float | None


def on_device(row: Operation) -> bool:
    """Whether it moved memory of an accelerator: its columns are shown then."""
    return bool(row.device_bytes or row.self_device_bytes)


def own_bytes(row: Operation) -> int:
    """Self memory of the accelerator where it has any, else of the CPU."""
    return row.self_device_bytes if on_device(row) else row.self_cpu_bytes


def table_rows(profiled: Profiled, before: Profiled | None = None) -> list[tuple[Cell, ...]]:
    """One row per row of key_averages(), in its order; with `before` its difference in self memory at the end.

    Bytes are those of the accelerator where one was profiled.
    """
    told = _self_bytes(before) if before else {}
    rows = list[tuple[Cell, ...]]()
    for row, name in zip(profiled.rows, labels_of(profiled.rows), strict=True):
        cells: tuple[Cell, ...] = (
            name,
            own_bytes(row),
            row.allocated_bytes,
            row.freed_bytes,
            row.device_bytes if on_device(row) else row.cpu_bytes,
            row.calls,
            row.recomputed_calls,
            round(row.self_cpu_time_s * MICROSECONDS, 1),
            round(row.cpu_time_s * MICROSECONDS, 1),
            round(row.cpu_time_s / row.calls * MICROSECONDS, 1) if row.calls else None,
            round(row.flops / 1e6, 3) if row.flops else None,
            row.shapes,
            row.source,
        )
        rows.append((*cells, own_bytes(row) - told[name] if name in told else None) if before else cells)
    return rows


def _self_bytes(profiled: Profiled) -> dict[str, int]:
    return {name: own_bytes(row) for name, row in zip(labels_of(profiled.rows), profiled.rows, strict=True)}


def table_csv(profiled: Profiled) -> str:
    """The table as a file."""
    return csv_text(TABLE_COLUMNS, table_rows(profiled))
