"""The board of a diagnosis: a row per module or variable, a cell per tensor, in the colour of its gradient's state."""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

import msgspec

from engine.diagnostics.results import Amount, Birth, Diagnosis, State, Watched
from engine.figures.units import format_shape, format_significant

MEANINGS: dict[State, str] = {
    "gradient": "gradient",
    "passes": "gradient_passes",
    "zero": "zero_gradient",
    "none": "no_gradient",
    "non_finite": "non_finite",
    "not_asked": "not_asked",
}
"""State -> meaning of the palette."""
LABELS: dict[State, str] = {
    "gradient": "gradient",
    "passes": "passes, not kept",
    "zero": "exactly 0",
    "none": "None",
    "non_finite": "NaN or inf",
    "not_asked": "requires none",
}
TROUBLE: frozenset[State] = frozenset({"zero", "none", "non_finite"})
MOST_COLUMNS = 8
OUTPUT = "output"
Which = Literal["everything", "trouble"]


class Cell(msgspec.Struct, frozen=True):
    """One tensor on the board: its place, state, the short text beside its mark, and what hovering says."""

    name: str
    row: int
    column: int
    state: State
    text: str
    hover: str


class Board(msgspec.Struct, frozen=True):
    """Rows and columns by their words; `origin` is the row in which the first non-finite value was born."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: int
    origin: int | None = None
    origin_words: str = ""
    """The operation that made it."""

    @property
    def states(self) -> tuple[State, ...]:
        """Those that occur, in the order of the legend."""
        present = {cell.state for cell in self.cells}
        return tuple(state for state in MEANINGS if state in present)


def board_of(diagnosis: Diagnosis, which: Which = "everything") -> Board:
    """Modules in the order they ran, inputs above, the loss below; with `which` "trouble" only rows that have some."""
    by_row: dict[str, list[Watched]] = {}
    for one in _in_order(diagnosis):
        by_row.setdefault(_row_words(one), []).append(one)
    if which == "trouble":
        by_row = {row: found for row, found in by_row.items() if any(one.state in TROUBLE for one in found)}
    columns = _columns([one for found in by_row.values() for one in found])
    place = {column: number for number, column in enumerate(columns)}
    cells, left_out = list[Cell](), 0
    for row, found in enumerate(by_row.values()):
        taken: set[int] = set()
        for one in found:
            column = place.get(_column_words(one))
            if column is None or column in taken:
                left_out += 1
                continue
            taken.add(column)
            cells.append(Cell(one.name, row, column, one.state, state_words(one), _hover(one)))
    types = {module.path: module.type for module in diagnosis.modules}
    rows = tuple(f"{row} · {types[row]}" if row in types else row for row in by_row)
    origin, words = _origin(diagnosis, list(by_row))
    return Board(rows, columns, tuple(cells), left_out, origin, words)


def _in_order(diagnosis: Diagnosis) -> list[Watched]:
    order = {module.path: number for number, module in enumerate(diagnosis.modules)}
    last = len(order) + 1
    kinds = {"input": -1, "leaf": -1, "loss": last + 1}
    return sorted(
        diagnosis.watched,
        key=lambda one: kinds.get(one.kind, order.get(one.module, last) if "." in one.name or one.module else last),
    )


def _row_words(one: Watched) -> str:
    if one.kind == "parameter":
        return one.module or "the model"
    if one.kind == "intermediate" and "()" in one.name:
        return one.module or "the model"
    return one.name


def _column_words(one: Watched) -> str:
    if one.kind == "parameter":
        return one.name.rpartition(".")[2]
    return OUTPUT if one.kind in ("intermediate", "loss") else "value"


def _columns(shown: list[Watched]) -> tuple[str, ...]:
    """What comes in, then the parameters' names, commonest first, then what comes out."""
    counts = Counter(map(_column_words, shown))
    names = [name for name, _ in counts.most_common() if name not in (OUTPUT, "value")][:MOST_COLUMNS]
    return (*(["value"] if "value" in counts else []), *names, *([OUTPUT] if OUTPUT in counts else []))


def state_words(one: Watched) -> str:
    """The norm, or why there is none, as short as it goes."""
    if one.state == "none":
        return "None"
    if one.state == "not_asked":
        return "–"
    if one.state == "zero":
        return "0"
    amount = one.grad or one.passed
    if amount is None:
        return ""
    if one.state == "non_finite":
        return "NaN" if amount.nans else "inf"
    text = format_significant(amount.norm)
    return f"{amount.norm:.0e}".replace("e+", "e").replace("e-0", "e-") if "e" in text else text


def amount_words(amount: Amount | None) -> str:
    """Norm, zeros and non-finite elements as a sentence's part."""
    if amount is None:
        return "none"
    if amount.non_finite:
        return f"{amount.nans} NaN and {amount.infinities} infinite of {amount.numel} elements"
    zeros = f", {amount.zeros} of {amount.numel} elements 0" if amount.zeros else ""
    norm = format_significant(amount.norm) if math.isfinite(amount.norm) else "too large for its dtype"
    return f"norm {norm}{zeros}"


def _hover(one: Watched) -> str:
    return f"{one.name}  {format_shape(one.shape)} {one.dtype}: {one.verdict}"


def _origin(diagnosis: Diagnosis, rows: list[str]) -> tuple[int | None, str]:
    if diagnosis.origin is None:
        return None, ""
    birth = diagnosis.births[diagnosis.origin]
    row = birth.module if birth.phase != "given" or birth.module else birth.operation
    return (rows.index(row), short_operation(birth)) if row in rows else (None, "")


def short_operation(birth: Birth) -> str:
    """`aten.addmm.default` as addmm; in backward the node."""
    if birth.phase == "given":
        return birth.operation
    return birth.node if birth.node else birth.operation.split(".")[1]
