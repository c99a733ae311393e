"""The files the profiler page saves: pictures, tables, a report, and traces for the standard viewers."""

from __future__ import annotations

import msgspec

from engine.figures.csv_text import csv_text
from engine.figures.profiler_memory import memory_svg
from engine.figures.profiler_svg import flow_svg, self_svg
from engine.figures.profiler_table import TABLE_COLUMNS, own_bytes, table_csv, table_rows
from engine.figures.profiler_time import time_svg
from engine.figures.profiler_words import alive_rows, flow_rows, row_words, sum_words
from engine.figures.report import Table, report_html
from engine.figures.timing_svg import comparison_svg
from engine.figures.units import format_bytes, format_count
from engine.models.shape import describe
from engine.profiler.snapshot import cpu_snapshot, pickled
from engine.profiler.spec import Profiled, ProfileSpec, ProfilingCost, ProfilingCostSpec
from engine.script import script_for
from pages.memory.profiler_cost import COLUMNS, cost_rows
from pages.memory.profiler_numbers import key_numbers
from pages.shared.downloads import Download, as_json, spec_downloads

SVG, CSV = "image/svg+xml", "text/csv"
FLOW_COLUMNS, ALIVE_COLUMNS = ("allocated by", "freed by", "blocks", "bytes"), ("kind", "name", "allocated by", "bytes")
REPORTED = 60


def profile_downloads(spec: ProfileSpec, profiled: Profiled) -> tuple[Download, ...]:
    """Every file is made when its button is clicked."""
    return (
        *_traces(profiled),
        Download("Memory by operation, light (SVG)", "memory.svg", SVG, lambda: memory_svg(profiled)),
        Download("Memory by operation, dark (SVG)", "memory-dark.svg", SVG, lambda: memory_svg(profiled, "dark")),
        Download("Operations over time, light (SVG)", "time.svg", SVG, lambda: time_svg(profiled)),
        Download("Operations over time, dark (SVG)", "time-dark.svg", SVG, lambda: time_svg(profiled, "dark")),
        Download("Who freed it, light (SVG)", "flows.svg", SVG, lambda: flow_svg(profiled)),
        Download("Who freed it, dark (SVG)", "flows-dark.svg", SVG, lambda: flow_svg(profiled, "dark")),
        Download("Self time, light (SVG)", "self-time.svg", SVG, lambda: self_svg(profiled)),
        Download("Self time, dark (SVG)", "self-time-dark.svg", SVG, lambda: self_svg(profiled, "dark")),
        Download("The table (CSV)", "profile.csv", CSV, lambda: table_csv(profiled)),
        Download("torch's own text (TXT)", "profile.txt", "text/plain", lambda: profiled.whole_table),
        Download("Who freed it (CSV)", "flows.csv", CSV, lambda: csv_text(FLOW_COLUMNS, flow_rows(profiled))),
        Download("Still alive (CSV)", "alive.csv", CSV, lambda: csv_text(ALIVE_COLUMNS, alive_rows(profiled))),
        Download("Report with picture and tables (HTML)", "report.html", "text/html", lambda: _report(spec, profiled)),
        Download("Everything read (JSON)", "profile.json", "application/json", lambda: _json(profiled)),
        *spec_downloads(spec, "profiled_step"),  # the script imports torch, and torch the module `profile`
    )


def _traces(profiled: Profiled) -> tuple[Download, ...]:
    """For Perfetto, chrome://tracing and pytorch.org/memory_viz; a trace that was too large is a text that says so."""
    trace = (
        Download("Chrome trace (JSON, gzipped)", "trace.json.gz", "application/gzip", lambda: profiled.trace)
        if profiled.trace
        else Download("Chrome trace: why there is none", "trace.txt", "text/plain", lambda: profiled.trace_note)
    )
    names = [row.name for row in profiled.rows]

    def snapshot() -> bytes:
        return pickled(cpu_snapshot(profiled.allocations, profiled.operations, names))

    octets = "application/octet-stream"
    own = Download("Memory snapshot for memory_viz (pickle)", "snapshot.pickle", octets, snapshot)
    device = Download("CUDA's own snapshot (pickle)", "cuda.pickle", octets, lambda: profiled.device_snapshot)
    return (trace, own, device) if profiled.device_snapshot else (trace, own)


def _json(profiled: Profiled) -> str:
    """Without the two files that have buttons of their own."""
    return as_json(msgspec.structs.replace(profiled, trace=b"", device_snapshot=b""))


def _report(spec: ProfileSpec, profiled: Profiled) -> str:
    subject = describe(spec.model.architecture) if spec.program == "the model" else spec.program
    order = sorted(range(len(profiled.rows)), key=lambda place: -own_bytes(profiled.rows[place]))
    rows, negative = table_rows(profiled), [p for p in order if own_bytes(profiled.rows[p]) < 0]
    cells = tuple(tuple("" if cell is None else str(cell) for cell in rows[place]) for place in order[:REPORTED])
    flows = tuple(tuple(map(str, row)) for row in flow_rows(profiled)[:REPORTED])
    return report_html(
        memory_svg(profiled),
        memory_svg(profiled, "dark"),
        title=f"Profile of {subject}",
        numbers=[
            (
                number.label,
                format_bytes(number.value or 0) if number.unit == "bytes" else format_count(int(number.value or 0)),
            )
            for number in key_numbers(profiled)
        ],
        notes=[sum_words(profiled), *(row_words(profiled, place).replace("`", "") for place in negative)],
        tables=(Table("key_averages()", TABLE_COLUMNS, cells), Table("Who freed it", FLOW_COLUMNS, flows)),
        spec=as_json(spec),
        script=script_for(spec),
    )


def cost_downloads(spec: ProfilingCostSpec, cost: ProfilingCost) -> tuple[Download, ...]:
    """The comparison as picture and table, and every sample."""
    found = cost.comparison
    return (
        Download("Picture, light (SVG)", "profiling-cost.svg", SVG, lambda: comparison_svg(found)),
        Download("Picture, dark (SVG)", "profiling-cost-dark.svg", SVG, lambda: comparison_svg(found, "dark")),
        Download("Every setting (CSV)", "profiling-cost.csv", CSV, lambda: csv_text(COLUMNS, cost_rows(cost))),
        Download("Everything measured (JSON)", "profiling-cost.json", "application/json", lambda: as_json(cost)),
        *spec_downloads(spec, "profiling_cost"),
    )
