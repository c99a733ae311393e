"""Whether the columns of a graph fit together, so that corrupted ones are refused instead of failing later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from engine.graph.columns import DTYPES, ITEM_BYTES, LARGEST, Coded, EdgeColumns, NodeColumns, SlotColumns, integers
from engine.graph.rows import Root
from engine.runner.contract import Array


def check_columns(nodes: NodeColumns, slots: SlotColumns, edges: EdgeColumns, roots: Iterable[Root]) -> None:
    """Raise ValueError, saying which column, what is wrong, and what was expected."""
    count = _length("nodes.saved", nodes.saved)
    _check_table("nodes", nodes, count)
    saved = int(integers(nodes.saved).sum())
    _check_table("slots", slots, saved)
    _below("slots.owner", slots.owner, len(slots.owners) + count, "owners and nodes")
    _check_table("edges", edges, _length("edges.source", edges.source))
    _below("edges.source", edges.source, count, "nodes")
    _below("edges.target", edges.target, count + 1, "nodes")
    for root in roots:
        if root.node is not None and not 0 <= root.node < count:
            raise _refusal(f"root {root.name!r}", f"points at node {root.node} of {count} nodes")


def _check_table(name: str, columns: NodeColumns | SlotColumns | EdgeColumns, count: int) -> None:
    for field in columns.__struct_fields__:
        column: Any = getattr(columns, field)
        codes = column.codes if isinstance(column, Coded) else column
        if not isinstance(codes, Array):
            continue
        found = _length(f"{name}.{field}", codes)
        if found != count:
            raise _refusal(f"{name}.{field}", f"has {found} rows where {count} belong")
        if isinstance(column, Coded):
            _below(f"{name}.{field}", codes, len(column.table), "values in its table")


def _length(name: str, column: Array) -> int:
    size = ITEM_BYTES.get(column.dtype)
    if size is None:
        raise _refusal(name, f"has dtype {column.dtype!r}; one of {', '.join(ITEM_BYTES)} is known")
    if len(column.shape) != 1 or column.shape[0] * size != len(column.data):
        raise _refusal(name, f"has {len(column.data)} bytes for shape {column.shape} of {column.dtype}")
    if size == ITEM_BYTES["uint64"] and len(column.data) and _largest(column) > LARGEST:
        raise _refusal(name, f"holds {_largest(column)}; {LARGEST} is the largest")
    return column.shape[0]


def _largest(column: Array) -> int:
    return int(np.frombuffer(column.data, DTYPES[column.dtype]).max())


def _below(name: str, column: Array, limit: int, what: str) -> None:
    largest = _largest(column) if column.data else -1
    if largest >= limit:
        raise _refusal(name, f"points at place {largest} of {limit} {what}")


def _refusal(name: str, what: str) -> ValueError:
    return ValueError(f"The columns of a graph do not fit together: {name} {what}. Trace the model again.")
