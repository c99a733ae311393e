"""The matrix that every sparse question is asked of, as data: its size, pattern, dtype and index dtype."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.runner.contract import check_ranges
from engine.sparse.entries import LARGEST_SIDE, MAXIMUM_ENTRIES, Entry

LayoutName = Literal["coo", "csr", "csc", "bsr", "bsc"]
LAYOUTS: tuple[LayoutName, ...] = ("coo", "csr", "csc", "bsr", "bsc")
COMPRESSED: tuple[LayoutName, ...] = ("csr", "csc", "bsr", "bsc")

Pattern = Literal[
    "random",
    "diagonal",
    "banded",
    "blocks",
    "power-law rows",
    "one full row",
    "duplicates",
    "empty",
    "typed entries",
]
IndexDtype = Literal["int64", "int32"]
Dtype = Literal[
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex32",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
    "uint16",
    "float8_e4m3fn",
]
"""Those that sparse tensors carry, then two that they do not: PyTorch's refusal is shown."""

_WHOLE = {
    "int8": (-128, 127),
    "int16": (-32768, 32767),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 255),
    "uint16": (0, 65535),
}
TWO_IN_ONE_PLACE = (Entry(0, 2, 3.0), Entry(0, 2, 4.0), Entry(1, 0, 5.0))
"""The matrix of pytorch/pytorch#9998: two entries share a place."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A sparse matrix; `density`, `band` and `entries` are read by the patterns that need them.

    Block layouts cut it into `block_rows` x `block_columns`. `index_dtype` is that of compressed layouts; COO always
    keeps int64. Values are whole numbers 1..9 drawn from `seed`.
    """

    rows: Annotated[int, Meta(ge=0, le=LARGEST_SIDE)] = 8
    columns: Annotated[int, Meta(ge=0, le=LARGEST_SIDE)] = 12
    pattern: Pattern = "random"
    density: Annotated[float, Meta(ge=0.0, le=1.0, description="share of the cells that are stored")] = 0.15
    band: Annotated[int, Meta(ge=0, le=16, description="diagonals to each side of the main one")] = 1
    entries: tuple[Entry, ...] = TWO_IN_ONE_PLACE
    dtype: Dtype = "float32"
    index_dtype: IndexDtype = "int64"
    block_rows: Annotated[int, Meta(ge=1, le=16)] = 2
    block_columns: Annotated[int, Meta(ge=1, le=16)] = 3
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.pattern == "typed entries":
            _check_entries(self)


def _check_entries(matrix: Matrix) -> None:
    if len(matrix.entries) > MAXIMUM_ENTRIES:
        raise ValueError(f"entries may be at most {MAXIMUM_ENTRIES}; received {len(matrix.entries)}. Leave some out.")
    for number, entry in enumerate(matrix.entries, start=1):
        if entry.row >= matrix.rows or entry.column >= matrix.columns:
            raise ValueError(
                f"Entry {number} is at row {entry.row}, column {entry.column}, outside of a matrix of "
                f"{matrix.rows} x {matrix.columns} (counted from 0). Move it inside, or raise rows and columns."
            )
        _check_value(matrix.dtype, number, entry.value)


def _check_value(dtype: str, number: int, value: float) -> None:
    if dtype not in _WHOLE:
        return
    low, high = _WHOLE[dtype]
    if value != int(value):
        raise ValueError(
            f"Entry {number} is {value:g}, and {dtype} holds whole numbers only. Round it, or choose a floating dtype."
        )
    if not low <= value <= high:
        raise ValueError(
            f"Entry {number} is {value:g}, and {dtype} holds {low} to {high}. Choose a value inside, or a wider dtype."
        )
