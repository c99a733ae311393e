"""The files the gradient values page saves: the chart, the table, everything read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from engine.figures.leaf_chart import Series
from engine.figures.leaf_chart_svg import leaf_chart_svg
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.units import format_bytes, format_significant
from engine.gradients.results import Accumulated, Checked, Clipped, Differences, Gradients, Stepped
from engine.gradients.spec import GradientsSpec
from engine.models.shape import describe
from engine.script import script_for
from pages.backward.gradient_values_accumulation import accumulation_numbers, accumulation_series, accumulation_table
from pages.backward.gradient_values_checks import check_numbers, check_table
from pages.backward.gradient_values_clipping import clipping_numbers, clipping_series, clipping_table
from pages.backward.gradient_values_controls import AnySpec
from pages.backward.gradient_values_two_runs import difference_numbers, difference_series, difference_table
from pages.backward.gradient_values_values import value_numbers, value_series, value_table
from pages.backward.gradient_values_zero_grad import step_numbers, step_series, step_table
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.shared.key_numbers import KeyNumber

MOST_ROWS = 2000


@dataclass(frozen=True)
class Shown:
    """What a section shows, as data: title, leaves, marks, numbers and table."""

    title: str
    y_title: str
    names: Sequence[str]
    series: Sequence[Series]
    numbers: Sequence[KeyNumber]
    table: pd.DataFrame


def shown_of(spec: AnySpec, outcome: Any, quantity: str) -> Shown:
    """The parts of the section that a file shows."""
    if isinstance(outcome, Gradients) and isinstance(spec, GradientsSpec):
        series, y_title = value_series(spec, outcome, quantity)
        names = [row.name for row in outcome.rows]
        return Shown("Gradient values", y_title, names, series, value_numbers(outcome), value_table(spec, outcome))
    if isinstance(outcome, Differences):
        parts = difference_series(outcome), difference_numbers(outcome), difference_table(outcome)
        return Shown("Gradients of two runs", "B against A", [row.name for row in outcome.rows], *parts)
    if isinstance(outcome, Accumulated):
        parts = accumulation_series(outcome), accumulation_numbers(outcome), accumulation_table(outcome)
        names = [row.name for row in outcome.rows[0]] if outcome.rows else []
        return Shown("Gradient accumulation", "relative difference", names, *parts)
    if isinstance(outcome, Clipped):
        parts = clipping_series(outcome), clipping_numbers(outcome), clipping_table(outcome)
        return Shown("Gradient clipping", "2-norm", [row.name for row in outcome.rows], *parts)
    if isinstance(outcome, Stepped):
        parts = step_series(outcome), step_numbers(outcome), step_table(outcome)
        names = [row.name for row in outcome.ways[0].rows] if outcome.ways else []
        return Shown("zero_grad and the next step", "movement", names, *parts)
    return _shown_checks(outcome)


def _shown_checks(outcome: Checked) -> Shown:
    entries = outcome.entries
    names = [f"{entry.name}[{','.join(map(str, entry.index))}]" for entry in entries]
    series = (
        Series("|gradient|", "gradient", tuple(abs(entry.exact) for entry in entries)),
        Series("|gradient − quotient|", 1, tuple(entry.error for entry in entries)),
    )
    return Shown("Finite differences", "", names, series, check_numbers(outcome), check_table(outcome))


def downloads(spec: AnySpec, outcome: Any, quantity: str) -> tuple[Download, ...]:
    """Every file is made when its button is clicked; a PNG is saved by the chart's own toolbar."""
    name = type(spec).__name__.removesuffix("Spec").lower()

    def shown() -> Shown:
        return shown_of(spec, outcome, quantity)

    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Chart, light (SVG)", f"{name}.svg", "image/svg+xml", lambda: _picture(spec, shown(), "light")),
        ("Chart, dark (SVG)", f"{name}-dark.svg", "image/svg+xml", lambda: _picture(spec, shown(), "dark")),
        ("Report, offline (HTML)", f"{name}.html", "text/html", lambda: _report(spec, shown())),
        ("Every row (CSV)", f"{name}.csv", "text/csv", lambda: str(shown().table.to_csv(index=False))),
        ("Everything read (JSON)", f"{name}.json", "application/json", lambda: as_json(outcome)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, name))


def _title(spec: AnySpec, shown: Shown) -> str:
    return f"{shown.title} of {describe(spec.model.architecture)}"


def _picture(spec: AnySpec, shown: Shown, theme: Theme) -> str:
    return leaf_chart_svg(shown.names, shown.series, theme, title=_title(spec, shown), y_title=shown.y_title)


def _report(spec: AnySpec, shown: Shown) -> str:
    rows = shown.table.head(MOST_ROWS).itertuples(index=False)
    return report_html(
        _picture(spec, shown, "light"),
        _picture(spec, shown, "dark"),
        title=_title(spec, shown),
        numbers=[(n.label, n.missing if n.value is None else _formatted(n.value, n.unit)) for n in shown.numbers],
        tables=(Table("Rows", tuple(map(str, shown.table.columns)), tuple(tuple(map(_cell, row)) for row in rows)),),
        spec=as_json(spec),
        script=script_for(spec),
    )


def _formatted(value: float, unit: str) -> str:
    return format_bytes(value) if unit == "bytes" else format_significant(value, 4)


def _cell(value: object) -> str:
    if value is None or value is pd.NA:
        return ""
    return format_significant(value, 4) if isinstance(value, float) else str(value)
