"""The files the memory formats page saves."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.format_export import events_table, operations_csv, parameters_table
from engine.figures.format_svg import strip_svg
from engine.figures.format_words import headline
from engine.figures.palette import Theme
from engine.figures.report import report_html
from engine.figures.units import format_bytes, format_significant
from engine.memory_format.spec import FormatSpec, FormatTrace
from engine.models.spec import describe
from engine.script import script_for
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.tensors.memory_formats_numbers import key_numbers
from pages.tensors.memory_formats_picture import shown, strip_of


def downloads(spec: FormatSpec, trace: FormatTrace) -> tuple[Download, ...]:
    """The picture as it is drawn now, and everything that was recorded."""
    which = shown()

    def picture(theme: Theme) -> str:
        return strip_svg(strip_of(spec, which), theme, _title(spec))

    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Picture, light (SVG)", "formats.svg", "image/svg+xml", lambda: picture("light")),
        ("Picture, dark (SVG)", "formats-dark.svg", "image/svg+xml", lambda: picture("dark")),
        ("Report, offline (HTML)", "formats.html", "text/html", lambda: _report(spec, trace, picture)),
        ("Every operation (CSV)", "operations.csv", "text/csv", lambda: operations_csv(trace)),
        ("Everything recorded (JSON)", "formats.json", "application/json", lambda: as_json(trace)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, "memory_formats"))


def _title(spec: FormatSpec) -> str:
    return f"Memory formats of {describe(spec.model.architecture)}"


def _report(spec: FormatSpec, trace: FormatTrace, picture: Callable[[Theme], str]) -> str:
    numbers = [(n.label, "not run" if n.value is None else _formatted(n.value, n.unit)) for n in key_numbers(trace)]
    return report_html(
        picture("light"),
        picture("dark"),
        title=_title(spec),
        numbers=numbers,
        notes=(_plain(headline(spec, trace)[1]),),
        tables=(events_table(trace), parameters_table(trace)),
        spec=as_json(spec),
        script=script_for(spec),
    )


def _plain(markdown: str) -> str:
    return markdown.replace("**", "").replace("`", "").replace("*", "")


def _formatted(value: float, unit: str) -> str:
    return format_bytes(value) if unit == "bytes" else format_significant(value)
