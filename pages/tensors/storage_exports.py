"""The files the storage page saves."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.cells_svg import cells_svg
from engine.figures.csv_text import csv_text
from engine.storage.spec import LayoutSpec, LayoutTrace
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.tensors.storage_cards import ATTRIBUTES, tensor_name
from pages.tensors.storage_picture import picture, shown_steps


def downloads(spec: LayoutSpec, trace: LayoutTrace) -> tuple[Download, ...]:
    """The picture as it is shown now, and everything that was read."""
    steps = shown_steps(trace)
    pictures: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Picture, light (SVG)", "storage.svg", "image/svg+xml", lambda: cells_svg(picture(spec, steps)[0], "light")),
        (
            "Picture, dark (SVG)",
            "storage-dark.svg",
            "image/svg+xml",
            lambda: cells_svg(picture(spec, steps)[0], "dark"),
        ),
    )
    data: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Every attribute (CSV)", "layouts.csv", "text/csv", lambda: attributes_csv(trace)),
        ("Everything read (JSON)", "layouts.json", "application/json", lambda: as_json(trace)),
    )
    files = (pictures if trace.layouts else ()) + data
    return (*(Download(*file) for file in files), *spec_downloads(spec, "storage"))


def attributes_csv(trace: LayoutTrace) -> str:
    """A row per tensor, a column per attribute."""
    rows = (
        [tensor_name(number), *(read(layout) for read in ATTRIBUTES.values())]
        for number, layout in enumerate(trace.layouts)
    )
    return csv_text(["tensor", *ATTRIBUTES], rows)
