"""The files the diagnostics page saves."""

from __future__ import annotations

from engine.diagnostics.catalogue import PROGRAMS
from engine.diagnostics.results import Diagnosis
from engine.diagnostics.spec import ProgramSpec
from engine.figures.csv_text import csv_text
from engine.figures.diagnostics_board import LABELS, amount_words, board_of
from engine.figures.diagnostics_svg import board_svg
from engine.figures.diagnostics_words import BIRTH_COLUMNS, birth_row, headline
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.units import format_shape
from engine.models.spec import describe
from engine.script import script_for
from pages.backward.diagnostics_controls import AnySpec
from pages.backward.diagnostics_numbers import numbers_of
from pages.shared.downloads import Download, as_json, spec_downloads

LEAF_COLUMNS = ("tensor", "kind", "shape", "dtype", "state", "gradient", "why")
STEP_COLUMNS = ("tensor", "step", "question", "answer", "evidence")


def title_of(spec: AnySpec) -> str:
    """What was diagnosed."""
    if isinstance(spec, ProgramSpec):
        return PROGRAMS[spec.program].title + (", mended" if spec.mended else "")
    return describe(spec.model.architecture)


def downloads(spec: AnySpec, diagnosis: Diagnosis) -> tuple[Download, ...]:
    """Pictures, every tensor with its trace, births, everything read, a report."""
    svg = "image/svg+xml"
    return (
        Download("Picture, light (SVG)", "diagnosis.svg", svg, lambda: _svg(spec, diagnosis, "light")),
        Download("Picture, dark (SVG)", "diagnosis-dark.svg", svg, lambda: _svg(spec, diagnosis, "dark")),
        Download("Tensors (CSV)", "tensors.csv", "text/csv", lambda: csv_text(LEAF_COLUMNS, leaf_rows(diagnosis))),
        Download("Traces (CSV)", "traces.csv", "text/csv", lambda: csv_text(STEP_COLUMNS, step_rows(diagnosis))),
        Download("Everything read (JSON)", "diagnosis.json", "application/json", lambda: as_json(diagnosis)),
        Download("Report (HTML)", "diagnosis.html", "text/html", lambda: report(spec, diagnosis)),
        *spec_downloads(spec, "diagnosis"),
    )


def _svg(spec: AnySpec, diagnosis: Diagnosis, theme: Theme) -> str:
    return board_svg(board_of(diagnosis), title_of(spec), theme)


def leaf_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """One row per tensor."""
    return [
        (
            one.name,
            one.kind,
            format_shape(one.shape),
            one.dtype,
            LABELS[one.state],
            amount_words(one.grad or one.passed),
            one.verdict,
        )
        for one in diagnosis.watched
    ]


def step_rows(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """One row per question of every trace."""
    return [
        (one.name, str(number), step.question, step.answer, step.evidence)
        for one in diagnosis.watched
        for number, step in enumerate(one.steps, start=1)
    ]


def report(spec: AnySpec, diagnosis: Diagnosis) -> str:
    """Board, headline, key numbers and tables in one file."""
    numbers = [(one.label, "none" if one.value is None else f"{one.value:g}") for one in numbers_of(diagnosis)]
    births = tuple(birth_row(number, one) for number, one in enumerate(diagnosis.births))
    said = [f"{diagnosis.error.type}: {diagnosis.error.message}"] if diagnosis.error is not None else []
    tables = [Table("Tensors", LEAF_COLUMNS, tuple(leaf_rows(diagnosis)))]
    if births:
        tables.append(Table("Where non-finite values were born", BIRTH_COLUMNS, births))
    return report_html(
        _svg(spec, diagnosis, "light"),
        _svg(spec, diagnosis, "dark"),
        title=f"Diagnosis: {title_of(spec)}",
        numbers=numbers,
        notes=[headline(diagnosis)[1], *said],
        tables=tables,
        spec=as_json(spec),
        script=script_for(spec),
    )
