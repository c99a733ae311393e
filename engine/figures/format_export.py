"""A format trace as files: every operation as CSV, tables for the report."""

from __future__ import annotations

from collections.abc import Iterable

from engine.figures.csv_text import csv_text
from engine.figures.report import Table
from engine.figures.units import format_shape
from engine.memory_format.spec import FormatTrace, Operation, TensorFormat

COLUMNS = (
    *("id", "phase", "operation", "module", "line", "autograd node", "strides in", "format in"),
    *(
        "strides out",
        "format out",
        "order",
        "event",
        "copied bytes",
        "reordered inside the kernel",
        "cast inside the kernel",
    ),
)


def operation_row(op: Operation) -> tuple[str | int, ...]:
    """One operation under `COLUMNS`; tensors of one operation are apart by semicolons."""
    return (
        op.id,
        op.phase,
        op.name,
        op.module,
        f"{op.source.file}:{op.source.line}" if op.source else "",
        f"{op.node} {op.variable}".strip(),
        _joined(strides(t) for t in op.inputs),
        _joined(format_name(t) for t in op.inputs),
        _joined(strides(t) for t in op.outputs),
        _joined(format_name(t) for t in op.outputs),
        op.order,
        op.event,
        op.copied_bytes,
        op.hidden_bytes,
        op.cast_bytes,
    )


def strides(tensor: TensorFormat) -> str:
    """ "4×32×16×16 (8192, 1, 512, 32)", the offset where there is one."""
    offset = f" + {tensor.storage_offset}" if tensor.storage_offset else ""
    return f"{format_shape(tensor.shape)} {tensor.stride}{offset}"


def format_name(tensor: TensorFormat) -> str:
    """The format, and what else the tensor is."""
    extra = " (parameter)" if tensor.is_parameter else " (view)" if tensor.aliases >= 0 else ""
    return ("not 4-D" if tensor.format == "not_4d" else tensor.format) + extra


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)


def operations_csv(trace: FormatTrace) -> str:
    """Every operation, one row each."""
    return csv_text(COLUMNS, (operation_row(op) for op in trace.operations))


def events_table(trace: FormatTrace) -> Table:
    """Operations that lose or gain channels_last or copy, for the report."""
    chosen = [op for op in trace.operations if op.event in ("loses", "gains", "converts") or op.copied_bytes]
    rows = tuple(tuple(map(str, operation_row(op))) for op in chosen)
    return Table("Losses, gains and copies", COLUMNS, rows)


def parameters_table(trace: FormatTrace) -> Table:
    """Parameters whose gradient has other strides."""
    rows = tuple(
        (p.name, format_shape(p.shape), str(p.stride), str(p.grad_stride), "order" if p.order_differs else "size 1")
        for p in trace.parameters
        if p.strides_differ
    )
    return Table(
        "Gradients with other strides than their parameter",
        ("parameter", "shape", "stride", "grad stride", "differs in"),
        rows,
    )
