"""Tables of a format trace: one operation's tensors, every operation, every parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd
import streamlit as st

from engine.figures.format_export import COLUMNS, format_name, operation_row
from engine.figures.format_words import at_place, copy_words, dims_by_stride, remedy
from engine.figures.units import format_bytes, format_shape
from engine.memory_format.spec import FormatTrace, Operation
from pages.shared.fields import common_arguments

FILTERS = ("losses and copies", "images", "every operation")
FILTER, MODULE = "formats.filter", "formats.module"
WHOLE_ROWS, TABLE_HEIGHT = 12, 460


def draw_operation(operation: Operation | None) -> None:
    """Tensors in and out of one operation."""
    with st.container(border=True, key="formats.operation"):
        if operation is None:
            st.caption("Click an operation to see the strides that went in and came out.")
            return
        node = f" · {operation.node} {operation.variable}".rstrip() if operation.node else ""
        st.markdown(f"**`{operation.name}`** `#{operation.id}` {at_place(operation)}  :gray[{operation.phase}{node}]")
        if operation.event == "loses":
            st.markdown(f":material/build: {remedy(operation)}")
        st.dataframe(tensor_table(operation), hide_index=True, width="stretch")
        _draw_copies(operation)


def _draw_copies(operation: Operation) -> None:
    if operation.copied_bytes:
        st.caption(f"The operation is a copy of {format_bytes(operation.copied_bytes)}.")
    for copy in operation.inside:
        st.caption(f"Inside its kernel, as the profiler saw it: {copy_words(copy)}.")


def tensor_table(operation: Operation) -> pd.DataFrame:
    """One row per tensor of an operation."""
    tensors = [("in", t) for t in operation.inputs] + [("out", t) for t in operation.outputs]
    return pd.DataFrame(
        {
            "": [side for side, _ in tensors],
            "shape": [format_shape(t.shape) for _, t in tensors],
            "stride": [str(t.stride) for _, t in tensors],
            "dims, largest stride first": [dims_by_stride(t) for _, t in tensors],
            "storage_offset": [t.storage_offset for _, t in tensors],
            "dtype": [t.dtype for _, t in tensors],
            "format": [format_name(t) for _, t in tensors],
            "memory": ["" if s == "in" else f"of input {t.aliases}" if t.aliases >= 0 else "new" for s, t in tensors],
        }
    )


def operation_table(operations: Sequence[Operation]) -> pd.DataFrame:
    """One row per operation, numbers as numbers."""
    return pd.DataFrame([operation_row(op) for op in operations], columns=list(COLUMNS))


def filtered(trace: FormatTrace, which: str, text: str) -> list[Operation]:
    """Operations of a filter whose name, module or node holds `text`, taken literally, any case."""
    wanted = text.casefold()
    kept = [op for op in trace.operations if wanted in f"{op.name}\n{op.module}\n{op.node}".casefold()]
    if which == FILTERS[0]:
        return [op for op in kept if op.event in ("loses", "gains", "converts") or op.copied_bytes or op.inside]
    return [op for op in kept if op.order or op.event] if which == FILTERS[1] else kept


def draw_operations(trace: FormatTrace) -> None:
    """The table with its filters; a click on a header sorts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        which = st.selectbox("Rows", FILTERS, index=0, **common_arguments(FILTER, ""))
        text = st.text_input("Filter", placeholder="operation, module or node", **common_arguments(MODULE, ""))
        table = operation_table(filtered(trace, which or FILTERS[0], text or ""))
        st.download_button(
            "CSV of these rows",
            data=lambda: table.to_csv(index=False),
            file_name="operations-filtered.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.caption(f"{len(table)} of {len(trace.operations)} operations")
    st.dataframe(table, hide_index=True, width="stretch", height=_height(len(table)))


def parameter_table(trace: FormatTrace) -> pd.DataFrame:
    """One row per parameter, those whose gradient differs first."""
    rows = sorted(trace.parameters, key=lambda p: not p.strides_differ)
    return pd.DataFrame(
        {
            "parameter": [p.name for p in rows],
            "shape": [format_shape(p.shape) for p in rows],
            "stride": [str(p.stride) for p in rows],
            "grad stride": ["None" if p.grad_stride is None else str(p.grad_stride) for p in rows],
            "differs": [_difference(p.strides_differ, p.order_differs) for p in rows],
            "format": [_format(p.format) for p in rows],
            "grad format": [_format(p.grad_format or "") for p in rows],
        }
    )


def _format(format_: str) -> str:
    return "not 4-D" if format_ == "not_4d" else format_


def _difference(strides: bool, order: bool) -> str:
    if not strides:
        return ""
    return "another order in memory" if order else "only in sizes of 1: same memory, other numbers"


def draw_parameters(trace: FormatTrace) -> None:
    """Strides of every parameter beside those of its gradient."""
    if trace.strides_differ:
        st.warning(
            f"{trace.strides_differ} gradients have other strides than their parameter. DistributedDataParallel warns "
            'of it ("Grad strides do not match bucket view strides") and copies those gradients.',
            icon=":material/warning:",
        )
    table = parameter_table(trace)
    st.dataframe(table, hide_index=True, width="stretch", height=_height(len(table)))


def _height(rows: int) -> int | Literal["content"]:
    return "content" if rows <= WHOLE_ROWS else TABLE_HEIGHT
