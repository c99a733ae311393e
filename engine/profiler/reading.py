"""A finished profile as a result: torch's own rows, each with the events behind its bytes."""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.profiler import profile

from engine.graph.columns import integers
from engine.profiler.flows import Followed, allocation_columns, follow_blocks
from engine.profiler.leftovers import names_by_address
from engine.profiler.programs import Runnable
from engine.profiler.spec import MEMORY_ROW, Alive, Operation, Profiled, ProfileSpec
from engine.profiler.tree import ENGINE, RowOf, Walked, operation_columns, sources, walk_tree
from engine.recorded_profiler import event_count, trace_start_ns
from engine.runner.contract import MEBIBYTE
from engine.runner.faults import Fault, too_much

MOST_EVENTS = 100_000
"""key_averages() takes about 70 µs an event."""
MOST_TRACE_BYTES = 12 * MEBIBYTE
SHOWN_ROWS = 10
OPERATORS = ("aten::", ENGINE)
MICROSECOND = 1e-6

Note = Callable[[str, float], None]


def read_profile(spec: ProfileSpec, recorded: profile, program: Runnable, progress: Note) -> Profiled:
    """Rows, flows, tree and files of one profile; a Fault for one of more than MOST_EVENTS events."""
    _refuse_too_many(event_count(recorded))
    progress("key_averages()", 0.5)
    averages, row_of = _rows_of(recorded, spec.group_by_input_shape)
    progress("following every block", 0.7)
    walked = walk_tree(recorded, row_of)
    of_device = [one for one in walked.allocations if one[1].device_type == _device(spec)]
    memory_row = next((place for place, one in enumerate(averages) if one.key == MEMORY_ROW), len(averages))
    followed = follow_blocks(of_device, walked.rows, memory_row, names_by_address(program.named()))
    made_by = [row.key for row in averages]
    alive = tuple(_named_as_rng_state(one, spec, made_by) for one in followed.alive)
    rows = _operations(averages, walked, followed)
    if memory_row == len(rows) and (followed.allocations[memory_row] or followed.frees[memory_row]):
        program.notes.append("Blocks outside of any operation have no row in torch's table here.")
        rows.append(_events_of(Operation(MEMORY_ROW, 0, *(0,) * 9, "", 0, 0, 0, 0, 0, 0, ""), memory_row, followed))
    progress("export_chrome_trace()", 0.85)
    trace, trace_note = _chrome_trace(recorded)
    operations = operation_columns(walked)
    sort_by = "self_cpu_memory_usage" if _device(spec) == "cpu" else "self_device_memory_usage"
    return Profiled(
        rows=tuple(rows),
        flows=followed.flows(),
        alive=alive,
        operations=operations,
        allocations=allocation_columns(of_device, trace_start_ns(recorded)),
        allocated_bytes=sum(followed.allocated.values()),
        freed_bytes=sum(followed.freed.values()),
        freed_earlier_bytes=followed.freed_earlier,
        alive_bytes=sum(one.bytes for one in followed.alive),
        peak_bytes=followed.peak,
        unexplained_bytes=_unexplained(rows, _device(spec)),
        wall_s=_span_s(operations),
        sort_by=sort_by,
        table=averages.table(sort_by=sort_by, row_limit=SHOWN_ROWS),
        whole_table=averages.table(sort_by=sort_by, row_limit=-1),
        trace=trace,
        trace_note=trace_note,
        error=program.error,
        notes=tuple(program.notes),
    )


def _refuse_too_many(events: int) -> None:
    if events > MOST_EVENTS:
        raise Fault(
            too_much(
                f"This run makes {events:,} events, and PyTorch would take minutes to add them up; the limit is "
                f"{MOST_EVENTS:,}.",
                "Profile fewer steps or layers, only the forward, or without with_stack.",
            )
        )


def _device(spec: ProfileSpec) -> str:
    return "cpu" if spec.program != "the model" else spec.model.device


def _rows_of(recorded: profile, by_shape: bool) -> tuple[Any, RowOf]:
    """`key_averages()`, and the place in it of every event, found as torch groups them and checked by its counts."""
    events = recorded.events()  # type: ignore[no-untyped-call]
    averages = recorded.key_averages(group_by_input_shape=by_shape)
    places: dict[tuple[object, ...], int] = {}
    row_of: RowOf = {}
    for event in events:
        key = (event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation)
        place = places.setdefault((*key, str(event.input_shapes) if by_shape else ""), len(places))
        row_of[event.id, round(event.time_range.start * 1000), event.trace_name or event.name] = place
    return averages, row_of


def _named_as_rng_state(one: Alive, spec: ProfileSpec, made_by: list[str]) -> Alive:
    """A checkpoint that preserves it keeps `torch.get_rng_state()`: told by its size, and that no operator made it.

    It is allocated in no operation, in a reentrant checkpoint's CheckpointFunction, or with stacks in a Python call.
    """
    keeps = spec.program == "the model" and spec.model.checkpoint != "off" and spec.model.preserve_rng_state
    maker = made_by[one.allocated_by] if one.allocated_by is not None and one.allocated_by < len(made_by) else ""
    by_operator = maker.startswith(OPERATORS)
    if one.name or not keeps or by_operator or one.bytes != torch.get_rng_state().nbytes:
        return one
    return msgspec.structs.replace(one, name="RNG state kept by a checkpoint (by its size)")


def _operations(averages: Any, walked: Walked, followed: Followed) -> list[Operation]:
    again = Counter(row for row, phase in zip(walked.rows, walked.phases, strict=True) if phase == "recompute")
    backward = Counter(row for row, phase in zip(walked.rows, walked.phases, strict=True) if phase == "backward")
    lines = sources(walked)
    plain = (_operation(one, again[place], backward[place], lines.get(place, "")) for place, one in enumerate(averages))
    return [_events_of(row, place, followed) for place, row in enumerate(plain)]


def _operation(one: Any, recomputed: int, backward: int, source: str) -> Operation:
    return Operation(
        one.key,
        one.count,
        one.cpu_time_total * MICROSECOND,
        one.self_cpu_time_total * MICROSECOND,
        one.cpu_memory_usage,
        one.self_cpu_memory_usage,
        one.device_time_total * MICROSECOND,
        one.self_device_time_total * MICROSECOND,
        one.device_memory_usage,
        one.self_device_memory_usage,
        one.flops or 0,
        str(one.input_shapes) if one.input_shapes else "",
        recomputed,
        backward,
        0,
        0,
        0,
        0,
        source,
    )


def _events_of(row: Operation, place: int, followed: Followed) -> Operation:
    return msgspec.structs.replace(
        row,
        allocated_bytes=followed.allocated[place],
        allocations=followed.allocations[place],
        freed_bytes=followed.freed[place],
        frees=followed.frees[place],
    )


def _unexplained(rows: list[Operation], device: str) -> int:
    own = ((row.self_cpu_bytes if device == "cpu" else row.self_device_bytes, row) for row in rows)
    return sum(abs(told - (row.allocated_bytes - row.freed_bytes)) for told, row in own)


def _span_s(operations: Any) -> float:
    starts, durations = integers(operations.start_ns), integers(operations.duration_ns)
    return float((starts + durations).max() - starts.min()) * 1e-9 if len(starts) else 0.0


def _chrome_trace(recorded: profile) -> tuple[bytes, str]:
    """What `export_chrome_trace` writes, gzipped; nothing and a note where it is too large to hand over."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(path))
        packed = gzip.compress(path.read_bytes(), 6, mtime=0)
    if len(packed) <= MOST_TRACE_BYTES:
        return packed, ""
    limit = f"{MOST_TRACE_BYTES // MEBIBYTE} MiB"
    return b"", f"The Chrome trace takes {len(packed) / MEBIBYTE:.1f} MiB gzipped; the limit is {limit}. Profile less."


def synchronise(device: str) -> None:
    """Wait for work that goes on after a call has returned."""
    if device == "cuda":
        torch.cuda.synchronize()
