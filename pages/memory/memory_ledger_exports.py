"""The files of the memory ledger: picture, blocks, everything read, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.figures.csv_text import csv_text
from engine.figures.memory_beside import memory_beside
from engine.figures.memory_treemap import memory_treemap
from engine.figures.memory_words import category_words
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.units import format_bytes, format_count
from engine.memory.ledger import bytes_by
from engine.memory.spec import Held, MemorySpec, MemoryTrace
from engine.models.shape import describe
from engine.script import script_for
from pages.memory.memory_ledger_blocks import block_table
from pages.memory.memory_ledger_numbers import key_numbers
from pages.shared.downloads import Download, as_json, spec_downloads
from pages.shared.key_numbers import KeyNumber

MOST_ROWS = 500


def title_of(spec: MemorySpec, moment: str, step: int) -> str:
    """What the picture shows, in one line."""
    return f"Memory of {describe(spec.model.architecture)}: {moment}, step {step}"


def downloads(
    spec: MemorySpec,
    trace: MemoryTrace,
    event: int | None,
    levels: str,
    title: str,
    old: tuple[MemoryTrace, int] | None = None,
) -> tuple[Download, ...]:
    """Every file is made when its button is clicked; without a moment only what was read and the settings.

    `old`: A's trace and the event of the same moment in it.
    """
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Everything read (JSON)", "memory.json", "application/json", lambda: as_json(trace)),
    )
    if event is not None:

        def picture(theme: Theme) -> str:
            return memory_treemap(trace, event, levels, theme, title=title)

        def blocks() -> str:
            return blocks_csv(trace, trace.blocks.alive_at(event).tolist())

        files = (
            ("Treemap, light (SVG)", "memory-ledger.svg", "image/svg+xml", lambda: picture("light")),
            ("Treemap, dark (SVG)", "memory-ledger-dark.svg", "image/svg+xml", lambda: picture("dark")),
            (
                "Report, offline (HTML)",
                "memory-ledger.html",
                "text/html",
                lambda: _report(spec, trace, event, levels, title),
            ),
            ("Live blocks (CSV)", "memory-blocks.csv", "text/csv", blocks),
            *files,
        )
    if event is not None and old is not None:
        files = (*_beside(trace, event, old, title), *files)
    return (*(Download(*file) for file in files), *spec_downloads(spec, "memory"))


def _beside(
    trace: MemoryTrace, event: int, old: tuple[MemoryTrace, int], title: str
) -> tuple[tuple[str, str, str, Callable[[], str]], ...]:
    def picture(theme: Theme) -> str:
        return memory_beside(trace, event, *old, theme, title=f"{title}, beside A")

    return (
        ("Beside A, light (SVG)", "memory-ledger-beside-a.svg", "image/svg+xml", lambda: picture("light")),
        ("Beside A, dark (SVG)", "memory-ledger-beside-a-dark.svg", "image/svg+xml", lambda: picture("dark")),
    )


def blocks_csv(trace: MemoryTrace, indices: Sequence[int]) -> str:
    """One line per block; `died` and `released` are empty where they never came."""
    return csv_text(("block", *Held.__struct_fields__), (_block_row(trace, index) for index in indices))


def _block_row(trace: MemoryTrace, index: int) -> tuple[object, ...]:
    held = trace.blocks[index]
    source = "" if held.source is None else f"{held.source.file}:{held.source.line}"
    shape = "" if held.shape is None else "x".join(map(str, held.shape))
    died, released = ("" if event < 0 else event for event in (held.died, held.released))
    facts = (held.bytes, held.born, died, held.category, held.name, shape, held.dtype, held.module, held.operation)
    return index, *facts, source, "; ".join(held.holders), held.afterwards or "", released


def _report(spec: MemorySpec, trace: MemoryTrace, event: int, levels: str, title: str) -> str:
    blocks = block_table(spec, event).head(MOST_ROWS)
    rows = tuple(tuple(_cell(name, cell) for name, cell in row.items()) for _, row in blocks.iterrows())
    groups = tuple(
        (category_words(name), format_bytes(size), f"{size:,}")
        for name, size in bytes_by(trace, event, "category").items()
    )
    return report_html(
        memory_treemap(trace, event, levels, "light", title=title),
        memory_treemap(trace, event, levels, "dark", title=title),
        title=title,
        numbers=numbers_told(key_numbers(trace, event)),
        notes=trace.notes,
        tables=(
            Table("By category", ("category", "bytes", "exactly"), groups),
            Table(f"Blocks, the {len(rows)} largest", tuple(blocks.columns), rows),
        ),
        spec=as_json(spec),
        script=script_for(spec),
    )


def numbers_told(numbers: tuple[KeyNumber, ...]) -> list[tuple[str, str]]:
    """Names and values of key numbers as words."""
    return [
        (
            one.label,
            one.missing
            if one.value is None
            else format_bytes(one.value)
            if one.unit == "bytes"
            else format_count(int(one.value)),
        )
        for one in numbers
    ]


def _cell(name: object, value: object) -> str:
    return f"{value:.1%}" if name == "share" and isinstance(value, float) else str(value)
