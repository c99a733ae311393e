"""The files the broadcasting page saves: pictures, tables, everything read."""

from __future__ import annotations

from collections.abc import Callable

from engine.broadcasting.results import Broadcast, Einsum
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec
from engine.figures.broadcasting_table import alignment_rows
from engine.figures.cells import CellScene
from engine.figures.cells_svg import cells_svg
from engine.figures.csv_text import csv_text
from engine.figures.ladder import COLUMNS, rung_rows
from engine.vectorisation.spec import Ladder, LadderSpec
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.tensors import broadcasting_einsum, broadcasting_section


def broadcast_downloads(spec: BroadcastSpec, outcome: Broadcast) -> tuple[Download, ...]:
    """Pictures, the alignment and the operands as tables, everything read."""
    table = broadcasting_section.operand_table(outcome)
    return (
        *_pictures("broadcast", lambda: broadcasting_section.picture(spec)[0]),
        Download("Alignment (CSV)", "alignment.csv", "text/csv", lambda: csv_text((), alignment_rows(spec, outcome))),
        Download("Operands (CSV)", "operands.csv", "text/csv", lambda: str(table.to_csv(index=False))),
        Download("Everything read (JSON)", "broadcast.json", "application/json", lambda: as_json(outcome)),
        *spec_downloads(spec, "broadcast"),
    )


def einsum_downloads(spec: EinsumSpec, outcome: Einsum) -> tuple[Download, ...]:
    """Pictures where the equation can be read, the operators called, everything read."""
    pictures = _pictures("einsum", lambda: broadcasting_einsum.picture(spec)[0]) if spec.parsed is not None else ()
    table = broadcasting_einsum.operator_table(outcome, with_views=True)
    return (
        *pictures,
        Download("Operators called (CSV)", "operators.csv", "text/csv", lambda: str(table.to_csv(index=False))),
        Download("Everything read (JSON)", "einsum.json", "application/json", lambda: as_json(outcome)),
        *spec_downloads(spec, "einsum"),
    )


def ladder_downloads(spec: LadderSpec, ladder: Ladder) -> tuple[Download, ...]:
    """Every rung against the first, and every sample."""
    baseline = ladder.comparison.names[0] if ladder.comparison else ""
    return (
        Download("Every rung (CSV)", "rungs.csv", "text/csv", lambda: csv_text(COLUMNS, rung_rows(ladder, baseline))),
        Download("Every sample (CSV)", "samples.csv", "text/csv", lambda: _samples(ladder)),
        Download("Everything measured (JSON)", "ladder.json", "application/json", lambda: as_json(ladder)),
        *spec_downloads(spec, "ladder"),
    )


def _pictures(name: str, scene: Callable[[], CellScene]) -> tuple[Download, ...]:
    mime = "image/svg+xml"
    return (
        Download("Picture, light (SVG)", f"{name}.svg", mime, lambda: cells_svg(scene(), "light")),
        Download("Picture, dark (SVG)", f"{name}-dark.svg", mime, lambda: cells_svg(scene(), "dark")),
    )


def _samples(ladder: Ladder) -> str:
    comparison = ladder.comparison
    if comparison is None:
        return csv_text(("rung", "round", "cpu_s", "wall_s"), ())
    return csv_text(
        ("rung", "round", "cpu_s", "wall_s"),
        (
            (name, number, cpu, wall)
            for name, cpus, walls in zip(comparison.names, comparison.cpu_s, comparison.wall_s, strict=True)
            for number, (cpu, wall) in enumerate(zip(cpus, walls, strict=True))
        ),
    )
