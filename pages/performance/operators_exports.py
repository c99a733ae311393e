"""The files the operators page saves: tables, samples, pictures, everything measured, an offline report."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from engine.figures.csv_text import csv_text
from engine.figures.operator_svg import ladder_svg
from engine.figures.operator_table import COLUMNS, ladder_rows, rung_notes
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.roofline import roof_words
from engine.figures.roofline_svg import roofline_svg
from engine.figures.units import format_significant
from engine.operator_ladder.catalogue import colour_order
from engine.operator_ladder.results import OperatorLadder, Roofline
from engine.operator_ladder.spec import OperatorLadderSpec, formulas_of
from engine.script import script_for
from engine.timing.comparison import Comparison
from pages.performance.operators_numbers import headline_atlas, winner_words
from pages.performance.timing_exports import samples_csv
from pages.shared.downloads import Download, as_json, spec_downloads

CEILING_COLUMNS = ("ceiling", "GB/s or GFLOP/s", "working set bytes", "code")


def downloads(spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None) -> tuple[Download, ...]:
    """Tables and data always; pictures and samples where there was something to compare."""
    files: list[tuple[str, str, str, Callable[[], str]]] = [
        ("Every rung (CSV)", "rungs.csv", "text/csv", lambda: rungs_csv(ladder, roofline)),
        ("Everything measured (JSON)", "operator.json", "application/json", lambda: everything(ladder, roofline)),
        ("Report, offline (HTML)", "operator.html", "text/html", lambda: report(spec, ladder, roofline)),
    ]
    comparison = ladder.comparison
    if comparison is not None:
        files += [
            ("Every sample (CSV)", "samples.csv", "text/csv", lambda: samples_csv(comparison)),
            ("Ladder, light (SVG)", "ladder.svg", "image/svg+xml", lambda: _picture(spec, comparison, "light")),
            ("Ladder, dark (SVG)", "ladder-dark.svg", "image/svg+xml", lambda: _picture(spec, comparison, "dark")),
        ]
    if roofline is not None and any(rung.seconds for rung in ladder.rungs):
        svg = "image/svg+xml"
        files += [
            ("Roofline, light (SVG)", "roofline.svg", svg, lambda: _roofline(spec, ladder, roofline, "light")),
            ("Roofline, dark (SVG)", "roofline-dark.svg", svg, lambda: _roofline(spec, ladder, roofline, "dark")),
        ]
    return (*(Download(*file) for file in files), *spec_downloads(spec, "operator_ladder"))


def rungs_csv(ladder: OperatorLadder, roofline: Roofline | None) -> str:
    """One row per rung, as the page shows it."""
    return csv_text(COLUMNS, ladder_rows(ladder, ladder.comparison, roofline))


def everything(ladder: OperatorLadder, roofline: Roofline | None) -> str:
    """Ladder and roofline with every sample."""
    return msgspec.json.format(msgspec.json.encode({"ladder": ladder, "roofline": roofline}), indent=2).decode()


def report(spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None) -> str:
    """Picture, every rung, the ceilings, script and settings in one file that needs no network."""
    found = ladder.comparison
    best = headline_atlas(ladder)
    roof = roof_words(best, ladder, roofline) if best and roofline else ""
    bytes_formula, flops_formula = formulas_of(spec.row, spec.work)
    ceilings = [
        (one.name, format_significant(one.per_s / 1e9), str(one.working_set_bytes), one.code)
        for one in (roofline.ceilings if roofline else ())
    ]
    return report_html(
        _pictures(spec, ladder, roofline, "light"),
        _pictures(spec, ladder, roofline, "dark"),
        title=f"{spec.row.title}: {spec.work}, {spec.dtype}",
        numbers=(("operations", str(ladder.flops)), ("least bytes", str(ladder.least_bytes))),
        notes=(
            *filter(None, (winner_words(ladder).replace("**", ""), roof)),
            f"Operations by formula: {flops_formula}. Least bytes: {bytes_formula}.",
            *rung_notes(ladder),
        ),
        tables=(
            Table("Every rung", COLUMNS, ladder_rows(ladder, found, roofline)),
            Table("Ceilings measured on this machine", CEILING_COLUMNS, tuple(ceilings)),
        ),
        spec=as_json(spec),
        script=script_for(spec),
    )


def _picture(spec: OperatorLadderSpec, comparison: Comparison, theme: Theme) -> str:
    return ladder_svg(comparison, theme, spec.row.rungs, colour_order(spec.row))


def _roofline(spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline, theme: Theme) -> str:
    return roofline_svg(ladder, roofline, theme, colour_order(spec.row), headline_atlas(ladder))


def _pictures(spec: OperatorLadderSpec, ladder: OperatorLadder, roofline: Roofline | None, theme: Theme) -> str:
    """Ladder and roofline below each other; "" where nothing was compared."""
    found = ladder.comparison
    if found is None:
        return ""
    return _picture(spec, found, theme) + ("" if roofline is None else _roofline(spec, ladder, roofline, theme))
