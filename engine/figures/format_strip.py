"""A model's operations in rows: a row per module, forward on the left going down, backward on the right going up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec

from engine.figures.units import format_bytes, format_count, format_shape, shorten
from engine.memory_format.spec import FormatTrace, Operation, TensorFormat

Side = Literal["forward", "backward"]
Shown = Literal["images", "every operation"]

QUIET = frozenset({"aten::detach", "aten::t", "aten::empty", "aten::new_empty_strided"})
"""Bookkeeping: not drawn unless every operation is asked for."""
COLUMNS = 26
"""Cells of one side in a line; longer rows take several lines."""
OUTSIDE = "outside of modules"
ORDER_KEYS = {"channels_last": "channels_last", "contiguous": "contiguous", "other": "other_strides", "": "no_image"}


class Cell(msgspec.Struct, frozen=True):
    """One operation: column and line within its row's side; `key` is its colour, `marks` what is drawn over it."""

    operation: int
    side: Side
    column: int
    line: int
    key: str
    marks: tuple[str, ...]
    is_view: bool


class Row(msgspec.Struct, frozen=True):
    """A module's operations; `times` equal modules are drawn once."""

    label: str
    top: int
    lines: int
    times: int
    cells: tuple[Cell, ...]


class Strip(msgspec.Struct, frozen=True):
    """All rows; `lines` in total, `drawn` of `total` operations have a cell of their own or stand behind one."""

    rows: tuple[Row, ...]
    lines: int
    forward_columns: int
    backward_columns: int
    drawn: int
    total: int
    words: dict[int, str]
    names: dict[int, str]
    legend: tuple[str, ...]


def build_strip(trace: FormatTrace, shown: Shown = "images") -> Strip:
    """Lay the operations of a trace out."""
    kept = [op for op in trace.operations if shown == "every operation" or _is_drawn(op)]
    groups = _fold(_rows(kept))
    rows, top = [], 0
    for label, times, forward, backward in groups:
        cells = (*_cells(forward, "forward"), *_cells(backward, "backward"))
        lines = 1 + max((cell.line for cell in cells), default=0)
        rows.append(Row(label, top, lines, times, cells))
        top += lines
    used = [cell for row in rows for cell in row.cells]
    keys = {cell.key for cell in used} | {mark for cell in used for mark in cell.marks}
    return Strip(
        rows=tuple(rows),
        lines=top,
        forward_columns=max((c.column + 1 for c in used if c.side == "forward"), default=1),
        backward_columns=max((c.column + 1 for c in used if c.side == "backward"), default=0),
        drawn=len(kept),
        total=len(trace.operations),
        words={cell.operation: words_of(trace.operations[cell.operation]) for cell in used},
        names={cell.operation: short_name(trace.operations[cell.operation]) for cell in used},
        legend=tuple(key for key in LEGEND if key in keys),
    )


LEGEND = (
    *("channels_last", "contiguous", "other_strides", "no_image"),
    *("format_lost", "format_gained", "format_copy", "hidden_copy"),
)


def _is_drawn(op: Operation) -> bool:
    if op.name in QUIET:
        return False
    return bool(op.order or op.event or op.copied_bytes or op.hidden_bytes)


Grouped = tuple[str, int, list[Operation], list[Operation]]


def _rows(operations: Sequence[Operation]) -> list[Grouped]:
    """Stretches of the forward by module group; backward operations join the row of their module's stretch."""
    forward = [op for op in operations if op.phase in ("forward", "loss")]
    rows: list[Grouped] = []
    row_of: dict[str, int] = {}
    for label, members in _stretches(forward):
        for op in members:
            row_of.setdefault(op.module, len(rows))
        rows.append((label, 1, members, []))
    backward = [op for op in operations if op.phase in ("backward", "recompute")]
    return _with_backward(rows, row_of, backward)


def _with_backward(rows: list[Grouped], row_of: dict[str, int], backward: Sequence[Operation]) -> list[Grouped]:
    """Backward operations in the row of their module; modules whose forward made no image share a row at the end."""
    without: dict[str, None] = {}
    where = last = len(rows)
    rows = [*rows, ("", 1, [], [])]
    for op in backward:
        where = _row_for(op, row_of, last if op.module else where)
        rows[where][3].append(op)
        if where == last:
            without[_block(op) or op.module or OUTSIDE] = None
    if not rows[last][3]:
        return rows[:last]
    rows[last] = (", ".join(reversed(without)), *rows[last][1:])
    return rows


def _row_for(op: Operation, row_of: dict[str, int], previous: int) -> int:
    path = op.module
    while path:
        if path in row_of:
            return row_of[path]
        path = path.rpartition(".")[0]
    return previous


def _stretches(forward: Sequence[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    """Consecutive operations of one block; what lies between two blocks is one stretch named after its modules."""
    for block, members in groupby(forward, key=_block):
        listed = list(members)
        if block:
            yield block, listed
        else:
            names = dict.fromkeys(op.module or _outside(op) for op in listed)
            named = [name for name in names if name not in (OUTSIDE, "loss")] or list(names)
            yield ", ".join(named), listed


def _outside(op: Operation) -> str:
    return "loss" if op.phase == "loss" else OUTSIDE


def _block(op: Operation) -> str:
    """Path up to its first number: "layer1.0.conv1" -> "layer1.0"; "" where there is none."""
    parts = op.module.split(".")
    number = next((i for i, part in enumerate(parts) if part.isdigit()), None)
    return "" if number is None else ".".join(parts[: number + 1])


def _fold(rows: list[Grouped]) -> list[Grouped]:
    """Neighbouring blocks that do the same are one row."""
    folded: list[Grouped] = []
    for row in rows:
        if folded and _signature(folded[-1]) == _signature(row) and "." in row[0]:
            label, times, forward, backward = folded[-1]
            folded[-1] = (f"{label.partition(' to ')[0]} to {row[0]}", times + 1, forward, backward)
        else:
            folded.append(row)
    return folded


def _signature(row: Grouped) -> tuple[object, ...]:
    return tuple(
        (op.name, op.phase, op.order, op.event, op.copied_bytes, op.hidden_bytes, tuple(t.shape for t in op.outputs))
        for op in (*row[2], *row[3])
    )


def _cells(operations: Sequence[Operation], side: Side) -> Iterator[Cell]:
    for number, op in enumerate(operations):
        yield Cell(op.id, side, number % COLUMNS, number // COLUMNS, ORDER_KEYS[op.order], marks_of(op), is_view(op))


def marks_of(op: Operation) -> tuple[str, ...]:
    """What is drawn over an operation: a loss or gain, a copy, a copy inside its kernel."""
    found = {
        "format_lost": op.event == "loses",
        "format_gained": op.event == "gains",
        "format_copy": op.copied_bytes > 0,
        "hidden_copy": op.hidden_bytes > 0,
    }
    return tuple(mark for mark, present in found.items() if present)


def is_view(op: Operation) -> bool:
    """Whether it only gave existing memory another shape."""
    return bool(op.outputs) and all(t.aliases >= 0 for t in op.outputs) and not op.name.endswith("_")


def fitted(name: str, letters: int) -> str:
    """At most so many letters; the prime that tells a backward operation stays."""
    prime = "′" if name.endswith("′") else ""
    return name[:-1][: letters - 1] + prime if prime else name[:letters]


def short_name(op: Operation) -> str:
    """ "aten::convolution_backward" -> "conv′": what a picture has room for."""
    stem, _, backward = op.name.removeprefix("aten::").partition("_backward")
    name = stem.removeprefix("_").removeprefix("native_").rstrip("_")
    return SHORT.get(name, name) + ("′" if backward or op.name.endswith("_backward") else "")


SHORT = {
    "convolution": "conv",
    "batch_norm": "bn",
    "layer_norm": "ln",
    "group_norm": "gn",
    "threshold": "relu",
    "max_pool2d_with_indices": "maxp",
    "avg_pool2d": "avgp",
    "transpose": "transp",
    "unsafe_view": "view",
    "as_strided": "strided",
    "scaled_dot_product_flash_attention_for_cpu": "sdpa",
    "softmax": "softmx",
    "softmax_backward_data": "softmx",
    "pixel_shuffle": "pshuf",
    "pixel_unshuffle": "unshuf",
    "new_empty_strided": "empty",
}


def words_of(op: Operation) -> str:
    """The tooltip: operation, place, the images in and out, bytes copied; lines apart."""
    place = f" at {op.source.file}:{op.source.line}" if op.source else ""
    lines = [f"{op.name}  #{op.id} in {op.module or OUTSIDE}{place}"]
    if op.source:
        lines.append(shorten(op.source.text, 70))
    if op.variable:
        lines.append(f"gradient of {op.variable}")
    lines += [f"in   {tensor_words(tensor)}" for tensor in _worth_showing(op.inputs)]
    lines += [f"out  {tensor_words(tensor)}" for tensor in _worth_showing(op.outputs)[:1]]
    if op.copied_bytes:
        lines.append(f"copies {format_bytes(op.copied_bytes)}")
    if op.hidden_bytes:
        lines.append(f"reorders in its kernel: {format_count(op.hidden_copies)}, {format_bytes(op.hidden_bytes)}")
    if op.cast_bytes:
        lines.append(f"casts in its kernel: {format_bytes(op.cast_bytes)}")
    return "\n".join(lines)


def _worth_showing(tensors: Sequence[TensorFormat]) -> list[TensorFormat]:
    """At most three, those of four dimensions if there are any."""
    images = [tensor for tensor in tensors if tensor.format != "not_4d"]
    return (images or list(tensors))[:3]


def tensor_words(tensor: TensorFormat) -> str:
    """Shape, strides, format and role of a tensor."""
    format_ = {"not_4d": "", "both": "both formats"}.get(tensor.format, tensor.format)
    role = " parameter" if tensor.is_parameter else " same memory" if tensor.aliases >= 0 else ""
    return f"{format_shape(tensor.shape)} {tensor.stride} {format_}{role}"
