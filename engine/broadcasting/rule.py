"""The broadcasting rule, without torch: shapes aligned from the right, each dimension equal, 1 or absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Shape = tuple[int, ...]
ColumnKind = Literal["broadcast", "rows", "contracted", "columns"]

NAMES = ("a", "b", "c", "d")


class Column(msgspec.Struct, frozen=True):
    """One dimension over all operands: its size in each (None where an operand has no such dimension).

    `result` is the size that comes out: None for a contracted dimension and where `fault` names two operands (by
    number) whose sizes differ with neither being 1.
    """

    kind: ColumnKind
    sizes: tuple[int | None, ...]
    result: int | None
    fault: tuple[int, int] | None = None


class Alignment(msgspec.Struct, frozen=True):
    """Every dimension from left to right, and the result's shape; None where they do not fit or `refusal` says why."""

    columns: tuple[Column, ...]
    shape: Shape | None
    refusal: str = ""

    @property
    def faults(self) -> tuple[int, ...]:
        """Numbers of the columns at fault, the rightmost first: the one that PyTorch finds first."""
        return tuple(n for n in reversed(range(len(self.columns))) if self.columns[n].fault is not None)


def align(shapes: Sequence[Shape]) -> Alignment:
    """Align shapes from the right; a size of 1 stretches, also to 0.

    >>> align([(3, 1, 5), (4, 1)]).shape
    (3, 4, 5)
    """
    columns = _columns(shapes)
    return Alignment(columns, _shape_of(columns))


def align_matmul(a: Shape, b: Shape) -> Alignment:
    """Align as `a @ b` does: the last dim of a meets the last but one of b, all in front of them broadcast.

    A 1-D operand is a row on the left and a column on the right, and its dimension leaves no trace in the result.
    """
    if not a or not b:
        which = "a" if not a else "b"
        return Alignment((), None, f"matmul needs a dimension to sum over, and {which} is 0-dim")
    batch = _columns((a[:-2], b[:-2]))
    inner = (a[-1], b[-2] if len(b) > 1 else b[-1])
    matrix = (
        *((Column("rows", (a[-2], None), a[-2]),) if len(a) > 1 else ()),
        Column("contracted", inner, None, None if inner[0] == inner[1] else (0, 1)),
        *((Column("columns", (None, b[-1]), b[-1]),) if len(b) > 1 else ()),
    )
    columns = (*batch, *matrix)
    kept = tuple(column for column in columns if column.kind != "contracted")
    faulty = any(column.fault for column in columns)
    return Alignment(columns, None if faulty else _shape_of(kept))


def operation_alignment(operation: str, shapes: Sequence[Shape]) -> Alignment:
    """How `operation` aligns these shapes: as matmul, or elementwise."""
    return align_matmul(shapes[0], shapes[1]) if operation == "matmul" else align(shapes)


def _columns(shapes: Sequence[Shape]) -> tuple[Column, ...]:
    dims = max((len(shape) for shape in shapes), default=0)
    padded = [(None,) * (dims - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(_column(tuple(sizes)) for sizes in zip(*padded, strict=True)) if dims else ()


def _column(sizes: tuple[int | None, ...]) -> Column:
    """The size that is not 1 wins; two different ones are at fault, the first found from the left."""
    winner: int | None = None
    for number, size in enumerate(sizes):
        if size is None or size == 1:
            continue
        if winner is None:
            winner = number
        elif sizes[winner] != size:
            return Column("broadcast", sizes, None, (winner, number))
    return Column("broadcast", sizes, 1 if winner is None else sizes[winner])


def _shape_of(columns: Sequence[Column]) -> Shape | None:
    sizes = [column.result for column in columns if column.result is not None]
    return tuple(sizes) if len(sizes) == len(columns) else None


def fault_in_words(alignment: Alignment) -> str:
    """Which dimensions do not fit and why, counted from the right as PyTorch aligns them; "" when they fit."""
    if alignment.refusal:
        return f"{alignment.refusal}."
    sentences = [_sentence(alignment, number) for number in alignment.faults]
    return " ".join(sentences)


def _sentence(alignment: Alignment, number: int) -> str:
    column = alignment.columns[number]
    first, second = column.fault or (0, 0)
    left, right = column.sizes[first], column.sizes[second]
    if column.kind == "contracted":
        where = "last but one" if any(other.kind == "columns" for other in alignment.columns) else "only one"
        return (
            f"The last dimension of a is {left} and the {where} of b is {right}: a matrix product sums over both "
            "together, so they must be equal; a size of 1 does not stretch here."
        )
    batch = sum(other.kind != "broadcast" for other in alignment.columns)
    from_right = len(alignment.columns) - number - batch
    place = f"dimension −{from_right}" if not batch else f"batch dimension −{from_right} (in front of the matrices)"
    return (
        f"At {place}, {NAMES[first]} has {left} and {NAMES[second]} has {right}: sizes that meet must be equal, or one "
        "of them 1."
    )
