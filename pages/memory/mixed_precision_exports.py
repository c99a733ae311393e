"""The files the mixed precision page saves: the map, its tables, everything recorded."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from engine.figures.csv_text import csv_text
from engine.figures.mixed_precision_svg import track_svg
from engine.figures.mixed_precision_words import calls_sentence, memory_sentence
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.units import format_bytes, format_count, format_significant
from engine.mixed_precision.spec import AutocastMap, AutocastSpec
from engine.models.spec import describe
from engine.script import script_for
from pages.memory.mixed_precision_numbers import map_numbers
from pages.memory.mixed_precision_picture import shown_track
from pages.memory.mixed_precision_tables import (
    apart_table,
    called_table,
    casts_table,
    held_table,
    kept_table,
    layers_table,
    operations_table,
    weights_table,
)
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.shared.key_numbers import KeyNumber

MOST_ROWS = 500
NAME = "mixed-precision"
Maker = Callable[[AutocastMap], pd.DataFrame]
TABLES: dict[str, Maker] = {
    "Bytes held": held_table,
    "Operators called": called_table,
    "Weights cast": weights_table,
    "Kept twice": kept_table,
    "Casts": casts_table,
    "Layers": layers_table,
    "Gradients": lambda found: apart_table(found.gradients, "gradient of"),
}


def downloads(spec: AutocastSpec, found: AutocastMap) -> tuple[Download, ...]:
    """Every file is made when its button is clicked; a PNG is saved by the chart's own toolbar."""
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Map, light (SVG)", f"{NAME}.svg", "image/svg+xml", lambda: _picture(spec, "light")),
        ("Map, dark (SVG)", f"{NAME}-dark.svg", "image/svg+xml", lambda: _picture(spec, "dark")),
        ("Report, offline (HTML)", f"{NAME}.html", "text/html", lambda: _report(spec, found)),
        ("Operations (CSV)", f"{NAME}-operations.csv", "text/csv", lambda: _csv(operations_table(found))),
        ("Casts (CSV)", f"{NAME}-casts.csv", "text/csv", lambda: _csv(casts_table(found))),
        ("Layers (CSV)", f"{NAME}-layers.csv", "text/csv", lambda: _csv(layers_table(found))),
        ("Everything recorded (JSON)", f"{NAME}.json", "application/json", lambda: as_json(found)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, NAME))


def _csv(table: pd.DataFrame) -> str:
    return csv_text(list(table.columns), table.itertuples(index=False))


def _title(spec: AutocastSpec) -> str:
    cache = "" if spec.cache_enabled else ", cache off"
    return f"{describe(spec.model.architecture)} under autocast in {spec.dtype}{cache}"


def _picture(spec: AutocastSpec, theme: Theme) -> str:
    return track_svg(shown_track(spec), theme, title=_title(spec))


def _report(spec: AutocastSpec, found: AutocastMap) -> str:
    return report_html(
        _picture(spec, "light"),
        _picture(spec, "dark"),
        title=_title(spec),
        numbers=[(one.label, _number(one)) for one in map_numbers(found)],
        notes=[one.replace("**", "").replace("`", "") for one in (calls_sentence(found), memory_sentence(found))],
        tables=[_table(name, make(found)) for name, make in TABLES.items()],
        spec=as_json(spec),
        script=script_for(spec),
    )


def _table(title: str, table: pd.DataFrame) -> Table:
    rows = table.head(MOST_ROWS).itertuples(index=False)
    return Table(title, tuple(map(str, table.columns)), tuple(tuple(map(_cell, row)) for row in rows))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return format_significant(value, 4) if isinstance(value, float) else str(value)


def _number(one: KeyNumber) -> str:
    if one.value is None:
        return one.missing
    if one.unit == "bytes":
        return format_bytes(one.value)
    return format_count(int(one.value)) if one.unit == "count" else format_significant(one.value)
