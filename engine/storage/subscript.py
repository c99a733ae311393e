"""`[...]` as steps: whole numbers select, slices slice, None inserts a dimension, `...` counts from the end."""

from __future__ import annotations

import ast
from typing import NamedTuple

from engine.storage.chain_error import ChainError
from engine.storage.literal import received, whole_number
from engine.storage.operations import Step

FULL = (None, None, 1)


class _Entry(NamedTuple):
    """One entry between commas: a whole number, a slice, None or `...`."""

    kind: str
    number: int = 0
    slice: tuple[int | None, int | None, int] = FULL

    @property
    def is_full(self) -> bool:
        return self.kind == "slice" and self.slice == FULL


def bind_output(node: ast.Subscript) -> int:
    """The whole number in `[0]` behind a method with several outputs."""
    return whole_number(node.slice)


def bind_subscript(node: ast.Subscript) -> list[Step]:
    """The steps of an index, as PyTorch itself takes it apart; full slices beside others do nothing."""
    inner = node.slice
    nodes = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    column = inner.col_offset
    entries = [_entry(entry) for entry in nodes]
    dots = [i for i, entry in enumerate(entries) if entry.kind == "..."]
    if len(dots) > 1:
        raise ChainError("An index can only have one '...'. Remove the others", nodes[dots[1]].col_offset)
    split = dots[0] if dots else len(entries)
    before, after = entries[:split], entries[split + 1 :]
    try:
        steps = _from_the_front(before) + _from_the_back(after)
        return steps or [_full(before, after, column)]
    except ChainError:
        raise
    except ValueError as error:
        raise ChainError(str(error), column) from None


def _full(before: list[_Entry], after: list[_Entry], column: int) -> Step:
    """Full slices alone: a view of everything."""
    if after:
        return Step("slice", (-len(after), *FULL))
    if before:
        return Step("slice", (len(before) - 1, *FULL))
    raise ChainError("An index of nothing changes nothing. Write an entry, as in [0] or [1:]", column)


def _from_the_front(entries: list[_Entry]) -> list[Step]:
    steps, dim = [], 0
    for entry in entries:
        if (step := _step(entry, dim)) is not None:
            steps.append(step)
        dim += entry.kind != "int"
    return steps


def _from_the_back(entries: list[_Entry]) -> list[Step]:
    """After `...` dimensions are counted from the end, where those to the right are not yet gone."""
    steps = []
    for position, entry in enumerate(entries):
        right = sum(other.kind != "None" for other in entries[position + 1 :])
        if (step := _step(entry, -right - 1)) is not None:
            steps.append(step)
    return steps


def _step(entry: _Entry, dim: int) -> Step | None:
    if entry.kind == "None":
        return Step("unsqueeze", (dim,))
    if entry.kind == "int":
        return Step("select", (dim, entry.number))
    return None if entry.is_full else Step("slice", (dim, *entry.slice))


def _entry(node: ast.expr) -> _Entry:
    if isinstance(node, ast.Constant) and node.value is None:
        return _Entry("None")
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return _Entry("...")
    if isinstance(node, ast.Slice):
        start, stop, step = (None if part is None else _bound(part) for part in (node.lower, node.upper, node.step))
        return _Entry("slice", slice=(start, stop, 1 if step is None else step))
    if isinstance(node, ast.Tuple | ast.List):
        raise ChainError(
            f"{received(node)} would index with a list, which copies and is no view; this page follows views. "
            f"Use whole numbers, slices, None and ...",
            node.col_offset,
        )
    return _Entry("int", number=whole_number(node))


def _bound(node: ast.expr) -> int | None:
    return None if isinstance(node, ast.Constant) and node.value is None else whole_number(node)
