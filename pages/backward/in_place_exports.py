"""The files of the page: the timeline, tables, everything read, a report."""

from __future__ import annotations

from engine.figures.csv_text import csv_text
from engine.figures.in_place_table import (
    FAMILY_COLUMNS,
    STATE_COLUMNS,
    UPDATE_COLUMNS,
    family_rows,
    saved_rows,
    state_rows,
    update_rows,
)
from engine.figures.in_place_words import explanation, headline
from engine.figures.report import Table, report_html
from engine.figures.units import format_count
from engine.in_place.language import lines_of
from engine.in_place.results import ProgramRun
from engine.in_place.spec import Family, FamilySpec, ProgramSpec, Traced, Updated, UpdateSpec
from engine.script import script_for
from pages.backward.in_place_timeline import fixed_svg, picture_svg
from pages.shared.downloads import Download, as_json, spec_downloads

SVG, CSV, JSON, HTML = "image/svg+xml", "text/csv", "application/json", "text/html"


def program_downloads(spec: ProgramSpec, traced: Traced) -> tuple[Download, ...]:
    """Timelines, states of every statement, everything read, a report."""
    corrected = (
        (Download("Corrected timeline (SVG)", "versions-corrected.svg", SVG, lambda: fixed_svg(spec, "light")),)
        if traced.fix is not None
        else ()
    )
    return (
        Download("Timeline, light (SVG)", "versions.svg", SVG, lambda: picture_svg(spec, "light")),
        Download("Timeline, dark (SVG)", "versions-dark.svg", SVG, lambda: picture_svg(spec, "dark")),
        *corrected,
        Download("Every tensor after every statement (CSV)", "versions.csv", CSV, lambda: states_csv(traced.run)),
        Download("Everything read (JSON)", "versions.json", JSON, lambda: as_json(traced)),
        Download("Report (HTML)", "versions.html", HTML, lambda: report(spec, traced)),
        *spec_downloads(spec, "versions"),
    )


def family_downloads(spec: FamilySpec, family: Family) -> tuple[Download, ...]:
    """The table and everything read."""
    return (
        Download("Table (CSV)", "family.csv", CSV, lambda: csv_text(FAMILY_COLUMNS, family_rows(spec, family))),
        Download("Everything read (JSON)", "family.json", JSON, lambda: as_json(family)),
        *spec_downloads(spec, "family"),
    )


def update_downloads(spec: UpdateSpec, updated: Updated) -> tuple[Download, ...]:
    """The table and everything counted."""
    return (
        Download("Table (CSV)", "updates.csv", CSV, lambda: csv_text(UPDATE_COLUMNS, update_rows(updated))),
        Download("Everything counted (JSON)", "updates.json", JSON, lambda: as_json(updated)),
        *spec_downloads(spec, "updates"),
    )


def states_csv(run: ProgramRun) -> str:
    """A row per statement and tensor."""
    rows = [
        (str(step.line), step.text, *row)
        for place, step in enumerate(run.steps)
        for row in state_rows(run, step, run.steps[place - 1] if place else None)
    ]
    return csv_text(("line", "statement", *STATE_COLUMNS), rows)


def report(spec: ProgramSpec, traced: Traced) -> str:
    """Timeline, PyTorch's words, plain words, the corrected program and the state at the end."""
    end = traced.run.steps[-1]
    said = traced.run.error or traced.run.probe
    notes = [headline(traced.run), *([f"{said.type}: {said.message}"] if said else [])]
    notes += [sentence.replace("`", "") for sentence in explanation(traced.run)]
    tables = [Table(f"After line {end.line}", STATE_COLUMNS, tuple(state_rows(traced.run, end, None)))]
    saved = tuple(saved_rows(traced.run, end))
    if saved:
        columns = ("node", "made in line", "slot", "memory", "saved at", "now", "state")
        tables.append(Table("Saved tensors", columns, saved))
    if traced.fix is not None:
        lines = tuple((line,) for line in lines_of(traced.fix.program))
        tables.append(Table(f"The corrected program. {traced.fix.rule}", ("statement",), lines))
    return report_html(
        picture_svg(spec, "light"),
        picture_svg(spec, "dark"),
        title="In-place operations and versions",
        numbers=(("writes in place", format_count(len(traced.run.bumps))), ("verdict", traced.run.verdict)),
        notes=notes,
        tables=tables,
        spec=as_json(spec),
        script=script_for(spec),
    )
