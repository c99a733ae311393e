"""Entries a reader types, one "row, column, value" a line: their grammar, parsed and never evaluated."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from engine.runner.contract import check_ranges

LARGEST_SIDE = 64
MAXIMUM_ENTRIES = 512
LARGEST_VALUE = 9999.0

_LINE = re.compile(
    r"""^\s*
    (?P<row>[+-]?\d{1,6})\s*[,\s]\s*
    (?P<column>[+-]?\d{1,6})\s*[,\s]\s*
    (?P<value>[+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:[eE][+-]?\d{1,2})?)
    \s*$""",
    re.VERBOSE,
)


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One stored entry of a matrix: where, and its value. The same place may occur more than once."""

    row: Annotated[int, Meta(ge=0, le=LARGEST_SIDE - 1)] = 0
    column: Annotated[int, Meta(ge=0, le=LARGEST_SIDE - 1)] = 0
    value: Annotated[float, Meta(ge=-LARGEST_VALUE, le=LARGEST_VALUE)] = 1.0

    def __post_init__(self) -> None:
        check_ranges(self)


def parse_entries(text: str) -> tuple[Entry, ...]:
    """ "0, 2, 3" on each line, or between semicolons -> entries in that order; # starts a remark.

    ValueError names the line, what is wrong with it and how to write it.
    """
    pieces = [piece for line in text.splitlines() for piece in line.partition("#")[0].split(";")]
    lines = list(enumerate(pieces, start=1))
    filled = [(number, line) for number, line in lines if line.strip()]
    if len(filled) > MAXIMUM_ENTRIES:
        raise ValueError(
            f"entries may be at most {MAXIMUM_ENTRIES} lines; received {len(filled)}. Leave some out, or choose a "
            f"pattern that makes them."
        )
    return tuple(_entry(number, line) for number, line in filled)


def _entry(number: int, line: str) -> Entry:
    found = _LINE.match(line)
    if found is None:
        raise ValueError(
            f"Entry {number} must be a row, a column and a value; received {line.strip()[:60]!r}. "
            f"Write it as 0, 2, 3.5 with commas or blanks between."
        )
    try:
        return Entry(int(found["row"]), int(found["column"]), float(found["value"]))
    except ValueError as error:
        raise ValueError(f"Entry {number}: {error}") from None


def entries_text(entries: tuple[Entry, ...]) -> str:
    """Entries as they stand in the field, one a line."""
    return "\n".join(f"{entry.row}, {entry.column}, {entry.value:g}" for entry in entries)
