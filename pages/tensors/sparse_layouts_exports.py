"""The files the sections of the sparse page save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from engine.figures.cells import CellScene
from engine.figures.cells_svg import cells_svg
from engine.figures.report import Table, report_html
from engine.figures.units import format_bytes
from engine.runner.contract import Result, Spec
from engine.script import script_for
from engine.sparse.results import SparseTrace
from engine.sparse.spec import SparseSpec
from pages.shared.downloads import Download, as_json, spec_downloads


def layout_downloads(spec: SparseSpec, trace: SparseTrace, scene: CellScene) -> tuple[Download, ...]:
    """The picture as it is shown, the arrays, and a report."""
    return section_downloads(spec, trace, arrays_frame(trace), "sparse", "One matrix in every sparse layout", scene)


def section_downloads(
    spec: Spec[Any],
    result: Result,
    frame: pd.DataFrame,
    name: str,
    title: str,
    scene: CellScene | None = None,
    numbers: Sequence[tuple[str, str]] = (),
) -> tuple[Download, ...]:
    """Picture where the section has cells, table, data, report, settings and script."""
    pictures = _pictures(scene, name) if scene is not None else ()

    def report() -> str:
        light, dark = (cells_svg(scene, "light"), cells_svg(scene, "dark")) if scene is not None else ("", "")
        return report_html(
            light,
            dark,
            title=title,
            numbers=numbers,
            tables=(as_table(title, frame),),
            spec=as_json(spec),
            script=script_for(spec),
        )

    data: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Report, offline (HTML)", f"{name}.html", "text/html", report),
        ("Table (CSV)", f"{name}.csv", "text/csv", lambda: frame.to_csv(index=False)),
        ("Everything read (JSON)", f"{name}.json", "application/json", lambda: as_json(result)),
    )
    return (*pictures, *(Download(*file) for file in data), *spec_downloads(spec, name))


def _pictures(scene: CellScene, name: str) -> tuple[Download, ...]:
    return (
        Download("Picture, light (SVG)", f"{name}.svg", "image/svg+xml", lambda: cells_svg(scene, "light")),
        Download("Picture, dark (SVG)", f"{name}-dark.svg", "image/svg+xml", lambda: cells_svg(scene, "dark")),
    )


def as_table(title: str, frame: pd.DataFrame) -> Table:
    """A data frame as a table of words."""
    rows = tuple(tuple(map(str, row)) for row in frame.itertuples(index=False))
    return Table(title, tuple(map(str, frame.columns)), rows)


def arrays_frame(trace: SparseTrace) -> pd.DataFrame:
    """One row per array of every layout, its content as text."""
    rows = [
        (
            layout.layout,
            member.name,
            member.dtype,
            str(member.shape),
            format_bytes(member.bytes),
            member.bytes,
            " ".join(map(str, member.numbers or member.texts)),
        )
        for layout in trace.layouts
        for member in layout.members
    ]
    return pd.DataFrame(rows, columns=["layout", "array", "dtype", "shape", "size", "bytes", "content"])
