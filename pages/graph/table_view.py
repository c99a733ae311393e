"""Tables of a traced model: every node, every leaf, every module."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from engine import run
from engine.figures.saved_by_module import draw_saved_by_module
from engine.figures.units import format_shape, format_significant
from engine.graph.columns import Coded, Integers, integers
from engine.graph.spec import Graph, GraphSpec, Leaf, TensorMetadata, Traced
from pages.shared.bound import bind
from pages.shared.theme import shown_theme

T = TypeVar("T")
ROWS_SENT = 5000
"""Rows a browser gets at once: 100,000 are 14 MB, which come again with every rerun."""
ROW_HEIGHT = 35
"""Pixels of one row of a Streamlit table."""


def node_table(graph: Graph) -> pd.DataFrame:
    """One row per node, numbers as numbers so that columns sort."""
    columns, slots = graph.node_columns, graph.slots
    count = len(graph.nodes)
    sequence_nrs = pd.Series(graph.node_sequence_nrs, dtype="Int64")
    return pd.DataFrame(
        {
            "id": np.arange(count),
            "operation": graph.node_names,
            "kind": graph.node_kinds,
            "module": graph.node_modules,
            "leaf": graph.node_variables,
            "gradient": _each(columns.inputs, _gradient),
            "saved slots": graph.saved_counts,
            "saved bytes": _per_node(slots.nodes, slots.bytes * (1 - slots.dropped), count),
            "dropped": _per_node(slots.nodes, slots.dropped, count),
            "sequence_nr": sequence_nrs.mask(sequence_nrs < 0),
            "line": _each(columns.source, lambda source: f"{source.file}:{source.line}" if source else ""),
        }
    )


def _each(column: Coded[T], text: Callable[[T], str]) -> list[str]:
    """The words for every row of a column, worked out once per different value."""
    words = [text(value) for value in column.table]
    return [words[code] for code in integers(column.codes).tolist()]


def _per_node(nodes: Integers, amounts: Integers, count: int) -> Integers:
    total = np.zeros(count, np.int64)
    np.add.at(total, nodes, amounts)
    return total


def _gradient(received: Sequence[TensorMetadata]) -> str:
    return ", ".join(f"{format_shape(metadata.shape)} {metadata.dtype}" for metadata in received)


@lru_cache(maxsize=4)
def _node_table(spec: GraphSpec) -> pd.DataFrame:
    return node_table(run(spec).graph)


def draw_node_table(spec: GraphSpec) -> None:
    """The table with a filter; a click on a header sorts. Of a long one the first rows are sent, the CSV has all."""
    every = _node_table(spec)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Filter", placeholder="operation, module or leaf", width=320, **bind("table.filter"))
        kinds = st.multiselect("Kind", sorted(every["kind"].unique()), key="table.kind", width=320)
        table = filter_table(every, text or "", kinds)
        st.download_button(
            "CSV of these rows",
            data=lambda: table.to_csv(index=False),
            file_name="nodes-filtered.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.caption(rows_told(len(table), len(every)))
    shown = table.head(ROWS_SENT)
    walked = st.column_config.NumberColumn(
        "id in the walk",
        help="Counts nodes from the loss back; the #number of a link counts alike ones in forward order.",
    )
    height = table_height(len(shown), 480)
    st.dataframe(shown, hide_index=True, width="stretch", height=height, key="node-table", column_config={"id": walked})


def rows_told(found: int, total: int) -> str:
    """How many rows there are, and what to do when not all of them are shown."""
    if found <= ROWS_SENT:
        return f"{found:,} of {total:,} nodes"
    among = f"{total:,} nodes" if found == total else f"the {found:,} found among {total:,} nodes"
    return f"The first {ROWS_SENT:,} of {among}: filter to see others; the CSV has them all"


def filter_table(table: pd.DataFrame, text: str, kinds: Sequence[str]) -> pd.DataFrame:
    """Rows whose operation, module or leaf holds `text` (any case, taken literally) and whose kind is in `kinds`."""
    searched = table["operation"] + "\n" + table["module"] + "\n" + table["leaf"]
    keep = searched.str.contains(text, case=False, regex=False)
    return table[keep & table["kind"].isin(kinds)] if kinds else table[keep]


def leaf_table(traced: Traced) -> pd.DataFrame:
    """One row per leaf, those without gradient first, then non-finite ones: its gradient, or why there is none."""
    leaves = sorted(traced.leaves, key=_urgency)
    return pd.DataFrame(
        {
            "name": [leaf.name for leaf in leaves],
            "‖grad‖": [gradient_text(leaf) for leaf in leaves],
            "why .grad is None": [note_on(leaf) for leaf in leaves],
            "shape": [format_shape(leaf.shape) for leaf in leaves],
            "dtype": [leaf.dtype for leaf in leaves],
            "requires_grad": [leaf.requires_grad for leaf in leaves],
            "is_leaf": [leaf.is_leaf for leaf in leaves],
            "uses": [leaf.uses for leaf in leaves],
            "what": [leaf.kind for leaf in leaves],
        }
    )


def _urgency(leaf: Leaf) -> tuple[bool, bool]:
    return leaf.grad_norm is not None, leaf.grad_norm is not None and math.isfinite(leaf.grad_norm)


def gradient_text(leaf: Leaf) -> str:
    """The norm in three digits, nan and ∞ as such, "None" without a gradient; a layout that is not strided is named."""
    if leaf.grad_norm is None:
        return "None"
    layout = "" if leaf.grad_layout in ("", "strided") else f" ({leaf.grad_layout})"
    return format_significant(leaf.grad_norm) + layout


def note_on(leaf: Leaf) -> str:
    """Why there is no gradient, or what is wrong with the one there is; nothing for an ordinary one."""
    if leaf.grad_norm is not None and not math.isfinite(leaf.grad_norm):
        return f"there is a gradient, and it holds {'nan' if math.isnan(leaf.grad_norm) else 'inf'}"
    return leaf.explanation if leaf.why else ""


def draw_leaf_table(traced: Traced) -> None:
    """The leaf table, the leaves without gradient first."""
    table = leaf_table(traced)
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=table_height(len(table), 420),
        column_config={
            "‖grad‖": st.column_config.TextColumn(
                help="2-norm of `tensor.grad` in double precision", alignment="right"
            ),
            "uses": st.column_config.NumberColumn(help="edges into its AccumulateGrad"),
            "why .grad is None": st.column_config.TextColumn(width="large"),
        },
    )


def table_height(rows: int, most: int) -> int:
    """Pixels for the rows and the header, at most `most`."""
    return min(ROW_HEIGHT * (rows + 1) + 3, most)


def draw_modules(traced: Traced, before: Traced | None = None) -> None:
    """Saved bytes by module as bars, with `before` beside run A, and every module with the autograd nodes it made."""
    chart, table = st.columns([3, 2], gap="large")
    with chart:
        theme = shown_theme()
        figure = draw_saved_by_module(traced.graph, theme, before.graph if before else None)
        st.plotly_chart(figure, key="saved-by-module", config={"displaylogo": False})
        kept = " What a checkpoint keeps lies in no slot and in no bar." if traced.graph.dropped_slots else ""
        st.caption(f"Each storage counts once, at the node that saved it first in the forward.{kept}")
    with table:
        st.dataframe(module_table(traced), hide_index=True, width="stretch", height=420)


def module_table(traced: Traced) -> pd.DataFrame:
    """One row per module: how often it ran and how many autograd nodes it and its children made."""
    calls = traced.modules
    return pd.DataFrame(
        {
            "module": [call.path or "(the model)" for call in calls],
            "class": [call.type for call in calls],
            "calls": [call.calls for call in calls],
            "nodes": [call.nodes for call in calls],
        }
    )
