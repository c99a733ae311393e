"""The files of the memory timeline: both pictures, every block, every event, report."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.arrays import array
from engine.figures.csv_text import csv_text
from engine.figures.memory_lifetimes import memory_lifetimes
from engine.figures.memory_timeline import memory_timeline
from engine.figures.memory_words import phase_words
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import phase_numbers
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.models.shape import describe
from engine.script import script_for
from pages.memory.memory_ledger_exports import blocks_csv, numbers_told
from pages.memory.memory_timeline_controls import PICTURES, Shown
from pages.memory.memory_timeline_details import step_table
from pages.memory.memory_timeline_numbers import key_numbers, peak_words
from pages.shared.downloads import Download, as_json, spec_downloads


def title_of(spec: MemorySpec) -> str:
    """What the picture shows, in one line."""
    return f"Live memory of {describe(spec.model.architecture)}, {spec.steps} steps with {spec.optimizer}"


def picture_svg(spec: MemorySpec, trace: MemoryTrace, shown: Shown, theme: Theme, selected: int = -1) -> str:
    """The picture that is chosen."""
    if shown.picture == PICTURES[0]:
        return memory_timeline(trace, shown.drawn, theme, title=title_of(spec))
    return memory_lifetimes(trace, shown.drawn, shown.stacking, theme, selected=selected, title=title_of(spec))


def downloads(spec: MemorySpec, trace: MemoryTrace, shown: Shown) -> tuple[Download, ...]:
    """Every file is made when its button is clicked."""
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        (
            "Picture, light (SVG)",
            "memory-timeline.svg",
            "image/svg+xml",
            lambda: picture_svg(spec, trace, shown, "light"),
        ),
        (
            "Picture, dark (SVG)",
            "memory-timeline-dark.svg",
            "image/svg+xml",
            lambda: picture_svg(spec, trace, shown, "dark"),
        ),
        ("Report, offline (HTML)", "memory-timeline.html", "text/html", lambda: _report(spec, trace, shown)),
        ("Every block (CSV)", "memory-blocks.csv", "text/csv", lambda: blocks_csv(trace, range(len(trace.blocks)))),
        ("Every event (CSV)", "memory-events.csv", "text/csv", lambda: events_csv(trace)),
        ("Everything read (JSON)", "memory.json", "application/json", lambda: as_json(trace)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, "memory"))


def events_csv(trace: MemoryTrace) -> str:
    """One line per event: time, phase, the allocator's counter, live bytes by category."""
    live = trace.blocks.live_bytes(trace.events).T.tolist()
    seconds = array(trace.event_s).tolist()
    counter = array(trace.allocator_bytes).tolist()
    words = [*map(phase_words, trace.phases), phase_words(None)]
    phases = [words[number] for number in phase_numbers(trace).tolist()]
    rows = ((event, seconds[event], phases[event], counter[event], *live[event]) for event in range(trace.events))
    return csv_text(("event", "seconds", "phase", "allocator_bytes", *CATEGORIES), rows)


def _report(spec: MemorySpec, trace: MemoryTrace, shown: Shown) -> str:
    steps = step_table(trace)
    rows = tuple(tuple(map(str, row)) for row in steps.itertuples(index=False))
    return report_html(
        picture_svg(spec, trace, shown, "light"),
        picture_svg(spec, trace, shown, "dark"),
        title=title_of(spec),
        numbers=numbers_told(key_numbers(trace)),
        notes=(peak_words(trace).replace("**", ""), *trace.notes),
        tables=(Table("Step by step, bytes", tuple(map(str, steps.columns)), rows),),
        spec=as_json(spec),
        script=script_for(spec),
    )
