"""The row of key numbers: each says where it was read, and how far it is from pinned A."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from engine.figures.units import (
    MINUS,
    format_bytes,
    format_count,
    format_exact_bytes,
    format_significant,
    format_time,
)


@dataclass(frozen=True)
class KeyNumber:
    """One number: label, value (None: `missing` says why), unit, and the torch attribute it comes from."""

    label: str
    value: float | None
    unit: str
    read_from: str
    missing: str = "not run"


NARROWEST, NARROWEST_PRESENTED = 128, 144
"""Pixels a number with its label needs, and what it needs in presenter mode."""

MILLION = 1e6


def _that_fits(value: float) -> str:
    """Whole numbers below a million to the last digit, others with as many digits as a box has room for."""
    if math.isfinite(value) and value.is_integer() and abs(value) < MILLION:
        return format_count(int(value))
    return format_significant(value, 5 if 1e-4 <= abs(value) < MILLION else 3)


_FORMATS: dict[str, Callable[[float], str]] = {
    "bytes": format_bytes,
    "count": lambda value: format_count(int(value)),
    "s": format_time,
    "%": lambda share: f"{share:.0%}",
    "share": lambda share: f"{format_significant(100 * share)} %",
    "exact": _that_fits,
    "": format_significant,
}


def number_text(number: KeyNumber) -> str:
    """The number as its box shows it."""
    return number.missing if number.value is None else _FORMATS[number.unit](number.value)


def draw_key_numbers(numbers: Sequence[KeyNumber], pinned: Sequence[KeyNumber] | None, name: str = "A") -> None:
    """Draw the numbers in one row; with `pinned`, each with its difference to A, or to `name`."""
    before = {number.label: number.value for number in pinned or ()}
    width = NARROWEST_PRESENTED if st.session_state.get("present") else NARROWEST
    grid = st.grid("auto", min_column_width=width, gap="small")
    for number in numbers:
        grid.metric(
            number.label,
            number_text(number),
            delta=difference(number, before.get(number.label), name) if pinned is not None else None,
            delta_color="off",
            delta_arrow="off",
            help=_help(number, before.get(number.label), name),
            border=True,
            height="stretch",
        )


def difference(number: KeyNumber, before: float | None, name: str = "A") -> str:
    """How far a number is from A, signed and in its own unit; "= A" when equal."""
    if number.value is None or before is None:
        return "not in both"
    change = number.value - before
    if math.isnan(change):
        return f"{name}: {_FORMATS[number.unit](before)}"
    return f"{'+' if change > 0 else MINUS}{_FORMATS[number.unit](abs(change))}" if change else f"= {name}"


def _help(number: KeyNumber, before: float | None, name: str) -> str:
    sentences = [f"Read from {number.read_from}."]
    if number.unit == "bytes" and number.value:
        sentences.append(f"Exactly {format_exact_bytes(int(number.value))}.")
    if before is not None and number.value is not None:
        share = f", {number.value / before:.1%} of it" if before else ""
        sentences.append(f"{'A' if name == 'A' else f'The {name} run'} had {_FORMATS[number.unit](before)}{share}.")
    return " ".join(sentences)
