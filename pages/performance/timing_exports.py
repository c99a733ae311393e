"""The files the timing page saves: raw samples, everything measured, an offline report."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.figures.allocation_chart import ALLOCATION_COLUMNS, allocation_rows, as_found_words, cliff_words
from engine.figures.csv_text import csv_text
from engine.figures.report import Table, report_html
from engine.figures.timing_svg import comparison_svg
from engine.figures.timing_words import agreement_words, band_words, cold_words, fault_words, headline, machine_words
from engine.figures.units import format_count, format_significant, format_time
from engine.script import script_for
from engine.timing.comparison import Comparison
from engine.timing.results import Allocations, Timing
from engine.timing.spec import AllocationSpec, TimingSpec
from pages.performance.timing_numbers import side_rows, timing_numbers
from pages.shared.downloads import Download, as_json, spec_downloads

SAMPLE_COLUMNS = ("side", "round", "counts", "thread_cpu_s", "wall_s", "page_faults")
SIDE_COLUMNS = ("side", "what", "per call", "first call", "page faults", "output", "from float64")


def timing_downloads(spec: TimingSpec, timing: Timing) -> tuple[Download, ...]:
    """Raw samples, everything measured, pictures and report where there was something to time."""
    found = timing.comparison
    files = (Download("Everything measured (JSON)", "timing.json", "application/json", lambda: as_json(timing)),)
    if found is None:
        return (*files, *spec_downloads(spec, "timing"))
    return (
        Download("Raw samples (CSV)", "samples.csv", "text/csv", lambda: samples_csv(found)),
        *files,
        Download("Report (HTML)", "timing.html", "text/html", lambda: timing_report(spec, timing, found)),
        Download("Picture, light (SVG)", "timing.svg", "image/svg+xml", lambda: comparison_svg(found, "light")),
        Download("Picture, dark (SVG)", "timing-dark.svg", "image/svg+xml", lambda: comparison_svg(found, "dark")),
        *spec_downloads(spec, "timing"),
    )


def allocation_downloads(spec: AllocationSpec, found: Allocations) -> tuple[Download, ...]:
    """Every size in words and in raw samples."""
    return (
        Download(
            "Every size (CSV)", "sizes.csv", "text/csv", lambda: csv_text(ALLOCATION_COLUMNS, allocation_rows(found))
        ),
        Download("Raw samples (CSV)", "samples.csv", "text/csv", lambda: allocation_csv(found)),
        Download("Everything measured (JSON)", "allocation.json", "application/json", lambda: as_json(found)),
        Download("Report (HTML)", "allocation.html", "text/html", lambda: allocation_report(spec, found)),
        *spec_downloads(spec, "allocation"),
    )


def samples_csv(found: Comparison) -> str:
    """One row per sample, rounds to warm up included with counts = 0; seconds and faults per call."""
    return csv_text(SAMPLE_COLUMNS, _sample_rows(found))


def _sample_rows(found: Comparison) -> Iterable[tuple[object, ...]]:
    for place, name in enumerate(found.names):
        if found.warm_up_cpu_s:
            warm = zip(found.warm_up_cpu_s[place], found.warm_up_wall_s[place], strict=True)
            first = 1 - len(found.warm_up_cpu_s[place])
            yield from ((name, first + number, 0, cpu, wall, "") for number, (cpu, wall) in enumerate(warm))
        rows = zip(found.cpu_s[place], found.wall_s[place], found.faults[place], strict=True)
        yield from ((name, number, 1, *row) for number, row in enumerate(rows, 1))


def allocation_csv(found: Allocations) -> str:
    """One row per sample of every size."""
    rows = ((point.output_bytes, *row) for point in found.points for row in _sample_rows(point.comparison))
    return csv_text(("output_bytes", *SAMPLE_COLUMNS), rows)


def timing_report(spec: TimingSpec, timing: Timing, found: Comparison) -> str:
    """Verdict, picture, numbers, both sides, script: one file that needs no network."""
    words: dict[str, Callable[[float], str]] = {"s": format_time, "count": lambda value: format_count(int(value))}
    read = [one for one in timing_numbers(timing) if one.value is not None]
    numbers = [(one.label, words.get(one.unit, format_significant)(one.value or 0.0)) for one in read]
    return report_html(
        comparison_svg(found, "light"),
        comparison_svg(found, "dark"),
        title=f"Timing: {headline(found)}",
        numbers=numbers,
        notes=(
            band_words(found),
            agreement_words(timing.agreement),
            f"Machine while measuring: {machine_words(timing.machine)}.",
            cold_words(timing),
            *fault_words(found),
            *found.notes,
        ),
        tables=(Table("Sides", SIDE_COLUMNS, side_rows(timing)),),
        spec=as_json(spec),
        script=script_for(spec),
    )


def allocation_report(spec: AllocationSpec, found: Allocations) -> str:
    """What was seen and every size, without a picture."""
    return report_html(
        "",
        "",
        title="Timing: fresh or reused output",
        notes=(
            cliff_words(found),
            as_found_words(found),
            *found.notes,
            f"Machine while measuring: {machine_words(found.machine)}.",
        ),
        tables=(Table("Every size", ALLOCATION_COLUMNS, allocation_rows(found)),),
        spec=as_json(spec),
        script=script_for(spec),
    )
