"""The files that the gradient scaling page saves."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.csv_text import csv_text
from engine.figures.grad_scaler_svg import norms_svg, scale_svg, spread_svg
from engine.figures.grad_scaler_words import SHARE_COLUMNS, STEP_COLUMNS, found_inf_rows, share_rows, step_rows
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.grad_scaler.results import Scaled
from engine.grad_scaler.spec import GradScalerSpec
from engine.script import script_for
from pages.memory.gradient_scaling_numbers import numbers_of
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.shared.key_numbers import number_text

Drawing = Callable[[Theme], str]


def downloads(spec: GradScalerSpec, found: Scaled) -> tuple[Download, ...]:
    """Pictures in both themes, tables, everything read, an offline report, settings and script."""
    columns, rows = found_inf_rows(found.run)
    return (
        *(one for title, draw in drawings(spec, found).items() for one in _pictures(title, draw)),
        Download("Report, offline (HTML)", "gradient_scaling.html", "text/html", lambda: report(spec, found)),
        Download("Every step (CSV)", "steps.csv", "text/csv", lambda: csv_text(STEP_COLUMNS, step_rows(found.run))),
        Download("found_inf (CSV)", "found_inf.csv", "text/csv", lambda: csv_text(columns, rows)),
        Download("Everything read (JSON)", "gradient_scaling.json", "application/json", lambda: as_json(found)),
        *spec_downloads(spec, "gradient_scaling"),
    )


def drawings(spec: GradScalerSpec, found: Scaled) -> dict[str, Drawing]:
    """Title -> how it is drawn."""
    named: dict[str, Drawing] = {}
    if found.run.steps:
        named["Scale"] = lambda theme: scale_svg(found.run, theme)
        named["Norms"] = lambda theme: norms_svg(found.run, theme)
    for spread in found.spreads:
        named[f"Gradients of {spread.source}"] = lambda theme, one=spread: spread_svg(  # type: ignore[misc]
            one, found.ranges, spec.init_scale, theme
        )
    return named


def _pictures(title: str, draw: Drawing) -> tuple[Download, ...]:
    stem = title.lower().replace(" ", "_")
    return (
        Download(f"{title}, light (SVG)", f"{stem}.svg", "image/svg+xml", lambda: draw("light")),
        Download(f"{title}, dark (SVG)", f"{stem}-dark.svg", "image/svg+xml", lambda: draw("dark")),
    )


def report(spec: GradScalerSpec, found: Scaled) -> str:
    """One HTML file: the scale, numbers, every step, shares, settings and script."""
    draw = next(iter(drawings(spec, found).values()), None)
    tables = [Table("Every step", STEP_COLUMNS, tuple(tuple(map(_cell, row)) for row in step_rows(found.run)))]
    tables += [Table(f"Gradients of {one.source}", SHARE_COLUMNS, tuple(share_rows(one))) for one in found.spreads]
    error = found.run.error
    notes = () if error is None else (f"{error.type}: {error.message}",)
    return report_html(
        draw("light") if draw else "",
        draw("dark") if draw else "",
        title="Gradient scaling",
        numbers=[(number.label, number_text(number)) for number in numbers_of(spec, found)],
        notes=(*found.run.warnings, *notes),
        tables=tables,
        spec=as_json(spec),
        script=script_for(spec),
    )


def _cell(value: object) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
