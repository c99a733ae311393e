"""Tables of a traced model: every node, every leaf, every module."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.figures.saved_by_module import draw_saved_by_module
from engine.figures.units import format_shape, format_significant
from engine.graph.spec import Graph, Leaf, Node, Traced
from pages.shared.theme import shown_theme

ROW_HEIGHT = 35
"""Pixels of one row of a Streamlit table."""


def node_table(graph: Graph) -> pd.DataFrame:
    """One row per node, numbers as numbers so that columns sort."""
    nodes = graph.nodes
    return pd.DataFrame(
        {
            "id": [node.id for node in nodes],
            "operation": [node.name for node in nodes],
            "kind": [node.kind for node in nodes],
            "module": [node.module for node in nodes],
            "leaf": [node.variable for node in nodes],
            "gradient": [_gradient(node) for node in nodes],
            "saved slots": [len(node.saved) for node in nodes],
            "saved bytes": [sum(slot.bytes for slot in node.saved if not slot.dropped) for node in nodes],
            "dropped": [sum(slot.dropped for slot in node.saved) for node in nodes],
            "sequence_nr": pd.array([node.sequence_nr for node in nodes], dtype="Int64"),
            "line": [f"{node.source.file}:{node.source.line}" if node.source else "" for node in nodes],
        }
    )


def _gradient(node: Node) -> str:
    return ", ".join(f"{format_shape(metadata.shape)} {metadata.dtype}" for metadata in node.inputs)


def draw_node_table(graph: Graph) -> None:
    """The table with a filter; a click on a header sorts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Filter", key="table.filter", placeholder="operation, module or leaf", bind="query-params", width=320
        )
        kinds = st.multiselect("Kind", sorted({node.kind for node in graph.nodes}), key="table.kind", width=320)
        table = filter_table(node_table(graph), text or "", kinds)
        st.download_button(
            "CSV of these rows",
            data=lambda: table.to_csv(index=False),
            file_name="nodes-filtered.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.caption(f"{len(table)} of {len(graph.nodes)} nodes")
    st.dataframe(table, hide_index=True, width="stretch", height=table_height(len(table), 480), key="node-table")


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


def draw_modules(traced: Traced) -> None:
    """Saved bytes by module as bars, and every module with the autograd nodes it made."""
    chart, table = st.columns([3, 2], gap="large")
    with chart:
        theme = shown_theme()
        st.plotly_chart(draw_saved_by_module(traced.graph, theme), key="saved-by-module", config={"displaylogo": False})
        st.caption("Each storage counts once, at the node that saved it first in the forward.")
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
