"""Bytes of a sparse layout by formula: the second way beside weighing real arrays."""

from __future__ import annotations

from engine.sparse.matrix import LayoutName

COO_INDEX_BYTES = 8
"""COO keeps int64 whatever is asked."""


def bytes_formula(
    layout: LayoutName, shape: tuple[int, int], item: int, index: int = 8, block: int = 1
) -> tuple[str, int | None]:
    """The formula in words, and the most entries with which it stays below dense; -1 when it never does.

    `item` and `index` are bytes of a value and of an index. None for blocks, whose number depends on where entries lie.
    """
    rows, columns = shape
    dense = rows * columns * item
    if layout == "coo":
        index = COO_INDEX_BYTES
        return f"nnz × (2 × {index} + {item})", _below(dense, 0, 2 * index + item)
    if layout in ("csr", "csc"):
        name, pointers = ("rows", rows) if layout == "csr" else ("columns", columns)
        most = _below(dense, (pointers + 1) * index, index + item)
        return f"({name} + 1) × {index} + nnz × ({index} + {item})", most
    name = "block rows" if layout == "bsr" else "block columns"
    return f"({name} + 1) × {index} + blocks × ({index} + {block**2} × {item})", None


def _below(limit: int, fixed: int, each: int) -> int:
    """The most entries n with fixed + n x each < limit."""
    return max((limit - fixed - 1) // each, -1) if limit > fixed else -1
