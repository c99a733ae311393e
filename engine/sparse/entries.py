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

MAXIMUM_TEXT = 32 * MAXIMUM_ENTRIES
"""Characters, remarks and blanks included."""
MAXIMUM_LINES = 2 * MAXIMUM_ENTRIES

_INDEX = re.compile(r"[+-]?[0-9]{1,6}")
_VALUE = re.compile(r"[+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:[eE][+-]?[0-9]{1,2})?")


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One stored entry of a matrix: where, and its value. The same place may occur more than once."""

    row: Annotated[int, Meta(ge=0, le=LARGEST_SIDE - 1)] = 0
    column: Annotated[int, Meta(ge=0, le=LARGEST_SIDE - 1)] = 0
    value: Annotated[float, Meta(ge=-LARGEST_VALUE, le=LARGEST_VALUE)] = 1.0

    def __post_init__(self) -> None:
        check_ranges(self)


def parse_entries(text: str) -> tuple[Entry, ...]:
    """ "0, 2, 3" on each line, or between semicolons -> entries in that order; # starts a remark.

    ValueError names the line, what is wrong with it and how to write it, or the limit that the text goes beyond.
    """
    _check_count("characters long", len(text), MAXIMUM_TEXT)
    written = text.splitlines()
    _check_count("lines", len(written), MAXIMUM_LINES)
    pieces = [piece for line in written for piece in line.partition("#")[0].split(";")]
    filled = [(number, line) for number, line in enumerate(pieces, start=1) if line.strip()]
    _check_count("entries", len(filled), MAXIMUM_ENTRIES)
    return tuple(_entry(number, line) for number, line in filled)


def _check_count(what: str, received: int, most: int) -> None:
    if received > most:
        raise ValueError(
            f"The typed entries may be at most {most} {what}; received {received}. Leave some out, or choose a pattern "
            f"that makes them."
        )


def _entry(number: int, line: str) -> Entry:
    words = [word for part in line.split(",") for word in part.split() or [""]]
    if len(words) != 3 or not all(map(_is_number, words, (_INDEX, _INDEX, _VALUE))):
        raise ValueError(
            f"Entry {number} must be a row, a column and a value; received {line.strip()[:60]!r}. "
            f"Write it as 0, 2, 3.5 with commas or blanks between."
        )
    try:
        return Entry(int(words[0]), int(words[1]), float(words[2]))
    except ValueError as error:
        raise ValueError(f"Entry {number}: {error}") from None


def _is_number(word: str, grammar: re.Pattern[str]) -> bool:
    return grammar.fullmatch(word) is not None


def entries_text(entries: tuple[Entry, ...]) -> str:
    """Entries as they stand in the field, one a line."""
    return "\n".join(f"{entry.row}, {entry.column}, {entry.value:g}" for entry in entries)
