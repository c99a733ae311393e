"""The files the checkpointing page saves."""

from __future__ import annotations

from engine.checkpointing.spec import Outcomes, PolicySpec, Searched, SearchSpec
from engine.figures.checkpointing_points import ACROSS_WORDS, UP_WORDS, Up
from engine.figures.checkpointing_search import candidates_svg, search_rows
from engine.figures.checkpointing_svg import policies_svg
from engine.figures.checkpointing_words import error_words, gradients_words, ratio_words
from engine.figures.csv_text import csv_text
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.units import format_bytes, format_count
from engine.models.shape import describe
from engine.script import script_for
from pages.memory.checkpointing_controls import across
from pages.memory.checkpointing_picture import points
from pages.memory.checkpointing_results import Known
from pages.memory.checkpointing_table import COLUMNS, table_values
from pages.shared.downloads import Download, as_json, spec_downloads

SVG = "image/svg+xml"
REPORTED = ("policy", "held", "forecast of held", "peak", "operations again", "time / off", "gradients")
CANDIDATES = ("policy", "found by", "bytes, estimated", "bytes counted", "FLOPs again", "fits", "chosen")


def title_of(spec: PolicySpec | SearchSpec) -> str:
    """What the files are of."""
    return f"Checkpointing policies: {describe(spec.model.architecture)}, batch {spec.model.batch}"


def downloads(known: Known, up: Up) -> tuple[Download, ...]:
    """Pictures, every number as CSV and JSON, a report; an image of what is in sight is in the chart's own toolbar."""
    return (
        Download("Picture, light (SVG)", "policies.svg", SVG, lambda: _svg(known, up, "light")),
        Download("Picture, dark (SVG)", "policies-dark.svg", SVG, lambda: _svg(known, up, "dark")),
        Download("All policies (CSV)", "policies.csv", "text/csv", lambda: csv_text(COLUMNS, csv_rows(known))),
        Download("Everything counted (JSON)", "policies.json", "application/json", lambda: json_text(known)),
        Download("Report (HTML)", "policies.html", "text/html", lambda: report(known, up)),
        *spec_downloads(known.spec, "policies"),
    )


def _svg(known: Known, up: Up, theme: Theme) -> str:
    measured, forecast = points(known, across(), up)
    title = f"{title_of(known.spec)}: {UP_WORDS[up]} over bytes {ACROSS_WORDS[across()]}"
    return policies_svg(measured, forecast, across(), up, title, theme)


def csv_rows(known: Known) -> list[tuple[object, ...]]:
    """One row per policy, raw numbers."""
    return [
        tuple("" if values[name] is None else values[name] for name in COLUMNS) for values in table_values(known.rows)
    ]


def json_text(known: Known) -> str:
    """Forecasts, outcomes and times as far as they are there."""
    parts = {"outcomes": known.outcomes, "forecasts": known.forecasts, "times": known.times}
    told = [f'"{name}": {as_json(part)}' for name, part in parts.items() if part is not None]
    return "{" + ",\n".join(told) + "}"


def report(known: Known, up: Up) -> str:
    """Picture and table in one file."""
    rows = tuple(
        (
            row.label,
            _bytes(row.outcome, "held_bytes"),
            _forecast(row.outcome, row.forecast),
            _bytes(row.outcome, "peak_bytes"),
            format_count(row.outcome.recomputed_operations) if row.outcome is not None else "",
            ratio_words(row),
            gradients_words(row.outcome) if row.outcome is not None else "",
        )
        for row in known.rows
    )
    return report_html(
        _svg(known, up, "light"),
        _svg(known, up, "dark"),
        title=title_of(known.spec),
        notes=notes_of(known.outcomes),
        tables=[Table("Policies", REPORTED, rows)],
        spec=as_json(known.spec),
        script=script_for(known.spec),
    )


def notes_of(outcomes: Outcomes | None) -> list[str]:
    """What was there before, and what the count has to say."""
    if outcomes is None:
        return ["Nothing was run: every number is estimated."]
    before = f"Parameters, buffers and inputs, {format_bytes(outcomes.before_bytes)}, count in no number."
    return [before, *outcomes.notes]


def _bytes(one: object, name: str) -> str:
    value = getattr(one, name, None)
    return "" if value is None else format_bytes(value)


def _forecast(outcome: object, forecast: object) -> str:
    foretold, fact = getattr(forecast, "held_bytes", None), getattr(outcome, "held_bytes", None)
    if foretold is None:
        return ""
    error = error_words(foretold, fact)
    return f"{format_bytes(foretold)} estimated" + (f", {error}" if error else "")


def search_downloads(spec: SearchSpec, found: Searched) -> tuple[Download, ...]:
    """The candidates as picture, table and data."""
    title = f"{title_of(spec)}: search"
    return (
        Download("Picture, light (SVG)", "search.svg", SVG, lambda: candidates_svg(found, title, "light")),
        Download("Picture, dark (SVG)", "search-dark.svg", SVG, lambda: candidates_svg(found, title, "dark")),
        Download("Candidates (CSV)", "candidates.csv", "text/csv", lambda: csv_text(CANDIDATES, search_rows(found))),
        Download("Everything found (JSON)", "search.json", "application/json", lambda: as_json(found)),
        Download("Report (HTML)", "search.html", "text/html", lambda: search_report(spec, found, title)),
        *spec_downloads(spec, "search"),
    )


def search_report(spec: SearchSpec, found: Searched, title: str) -> str:
    """Candidates, the chosen one and what was measured, in one file."""
    return report_html(
        candidates_svg(found, title, "light"),
        candidates_svg(found, title, "dark"),
        title=title,
        notes=found.notes,
        tables=[Table("Candidates", CANDIDATES, tuple(tuple(map(str, row)) for row in search_rows(found)))],
        spec=as_json(spec),
        script=script_for(spec),
    )
