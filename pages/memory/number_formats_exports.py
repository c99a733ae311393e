"""The files that the number format page saves."""

from __future__ import annotations

from engine.figures.csv_text import csv_text
from engine.figures.lines_svg import Line, lines_svg
from engine.figures.number_format_bits import bits_svg, value_text
from engine.figures.number_format_svg import gap_svg, ranges_svg
from engine.figures.number_format_words import (
    LIMIT_COLUMNS,
    RUN_COLUMNS,
    STORED_COLUMNS,
    limit_rows,
    run_rows,
    stored_rows,
)
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.number_format.results import Formats, RunningSums
from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from engine.script import script_for
from pages.shared.downloads import Download, as_json, spec_downloads

SVG = "image/svg+xml"


def format_downloads(spec: NumberFormatSpec, found: Formats) -> tuple[Download, ...]:
    """The bits of the first number as a picture, every conversion, limits, everything read, an offline report."""
    rows = [(one.text, *row) for one in found.values for row in stored_rows(one)]
    columns = ("typed", *STORED_COLUMNS)
    return (
        Download("Bits, light (SVG)", "bits.svg", SVG, lambda: bits_svg(found.values[0], "light")),
        Download("Bits, dark (SVG)", "bits-dark.svg", SVG, lambda: bits_svg(found.values[0], "dark")),
        *_charts(spec, found),
        Download("Report, offline (HTML)", "number_formats.html", "text/html", lambda: _format_report(spec, found)),
        Download("In every dtype (CSV)", "stored.csv", "text/csv", lambda: csv_text(columns, rows)),
        Download("Limits (CSV)", "limits.csv", "text/csv", lambda: csv_text(LIMIT_COLUMNS, limit_rows(found))),
        Download("Everything read (JSON)", "number_formats.json", "application/json", lambda: as_json(found)),
        *spec_downloads(spec, "number_formats"),
    )


def _charts(spec: NumberFormatSpec, found: Formats) -> tuple[Download, ...]:
    """The two charts of the first number."""
    value, exact, limits = found.values[0], spec.typed[0].exact, found.limits
    return (
        Download("Between two numbers, light (SVG)", "gaps.svg", SVG, lambda: gap_svg(value, exact, "light")),
        Download("Between two numbers, dark (SVG)", "gaps-dark.svg", SVG, lambda: gap_svg(value, exact, "dark")),
        Download("Ranges, light (SVG)", "ranges.svg", SVG, lambda: ranges_svg(value, limits, "light")),
        Download("Ranges, dark (SVG)", "ranges-dark.svg", SVG, lambda: ranges_svg(value, limits, "dark")),
    )


def _format_report(spec: NumberFormatSpec, found: Formats) -> str:
    tables = [Table(one.text, STORED_COLUMNS, tuple(stored_rows(one))) for one in found.values]
    return report_html(
        bits_svg(found.values[0], "light"),
        bits_svg(found.values[0], "dark"),
        title="Number formats",
        tables=(*tables, Table("Limits", LIMIT_COLUMNS, tuple(limit_rows(found)))),
        spec=as_json(spec),
        script=script_for(spec),
    )


def sum_downloads(spec: RunningSumSpec, found: RunningSums) -> tuple[Download, ...]:
    """The totals as a picture and a table, everything read, an offline report."""
    points = [(run.dtype, n, total) for run in found.runs for n, total in zip(run.counts, run.totals, strict=True)]
    return (
        Download("Totals, light (SVG)", "sums.svg", SVG, lambda: sum_svg(found, "light")),
        Download("Totals, dark (SVG)", "sums-dark.svg", SVG, lambda: sum_svg(found, "dark")),
        Download("Report, offline (HTML)", "running_sum.html", "text/html", lambda: _sum_report(spec, found)),
        Download("Totals (CSV)", "totals.csv", "text/csv", lambda: csv_text(("dtype", "additions", "total"), points)),
        Download("Everything read (JSON)", "running_sum.json", "application/json", lambda: as_json(found)),
        *spec_downloads(spec, "running_sum"),
    )


def sum_svg(found: RunningSums, theme: Theme) -> str:
    """Totals over the number of additions."""
    lines = [Line(run.dtype, [float(n) for n in run.counts], run.totals, place) for place, run in enumerate(found.runs)]
    return lines_svg(lines, theme, title="A running sum, one addition at a time", x_title="additions")


def _sum_report(spec: RunningSumSpec, found: RunningSums) -> str:
    return report_html(
        sum_svg(found, "light"),
        sum_svg(found, "dark"),
        title="A running sum",
        numbers=[("exact total", value_text(found.exact_total))],
        tables=(Table("In every dtype", RUN_COLUMNS, tuple(run_rows(found))),),
        spec=as_json(spec),
        script=script_for(spec),
    )
