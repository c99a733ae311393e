"""What differs between run A and this one: a sentence, the difference by module and node by node."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from engine.figures.comparison import Compared, ModuleDifference
from engine.figures.comparison_words import ChangedNode, changed_csv, changed_nodes, failed_run, few_pairs, headline
from engine.figures.saved_by_module import OUTSIDE
from engine.figures.scene import Scene
from engine.figures.units import MINUS, format_bytes
from engine.graph.spec import Traced
from pages.graph.node_details import draw_node
from pages.graph.numbers_row import saved_bytes
from pages.shared.pin import code_text

LISTED = 500
TABLE_HEIGHT = 250
CHECKPOINT = (
    "A checkpoint is on: rows of modules count what slots keep, the headline what hooks hold, so they need not add up."
)
MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~$:-])")
"""Letters that a caption would read as markup: names of outputs and messages are told as they are."""


def draw_headline(compared: Compared, before: Traced, traced: Traced) -> None:
    """One sentence: how many nodes differ, and how far the saved bytes are apart."""
    st.markdown(
        f":material/compare_arrows: **Against A:** {headline(compared, saved_bytes(before), saved_bytes(traced))}"
    )
    for note in filter(None, (failed_run(before), few_pairs(compared))):
        st.caption(MARKUP.sub(r"\\\1", note))


def draw_changes(compared: Compared, reveal: Callable[[str], None]) -> None:
    """Both tables, folded; a click on a row calls `reveal` with the address of a node."""
    if not any(compared.marks):
        return
    with st.expander("What changed, by module and node by node", icon=":material/table_rows:", key="changes"):
        found = changed_nodes(compared)
        _draw_modules(compared.modules, found, reveal)
        if compared.a.dropped_slots or compared.b.dropped_slots:
            st.caption(CHECKPOINT)
        _draw_nodes(compared, found, reveal)


def module_table(rows: Sequence[ModuleDifference]) -> pd.DataFrame:
    """One row per module that differs, the largest first; bytes as numbers, so that columns sort."""
    return pd.DataFrame(
        {
            "module": [row.path for row in rows],
            "+": [row.added for row in rows],
            MINUS: [row.removed for row in rows],
            "~": [row.changed for row in rows],
            "saved A": [row.saved_a_bytes for row in rows],
            "saved B": [row.saved_b_bytes for row in rows],
            "difference": [row.saved_b_bytes - row.saved_a_bytes for row in rows],
        }
    )


def module_rows(rows: Sequence[ModuleDifference]) -> Styler:
    """The same with bytes told in the unit that fits."""
    told: dict[Any, Any] = {"saved A": format_bytes, "saved B": format_bytes, "difference": _difference}
    return module_table(rows).style.format(told)


def node_table(found: Sequence[ChangedNode]) -> pd.DataFrame:
    """One row per node that differs, in forward order."""
    return pd.DataFrame(
        {
            "against A": [node.mark for node in found],
            "module": [node.module for node in found],
            "operation": [node.operation for node in found],
            "what differs": ["; ".join(node.words) for node in found],
        }
    )


def _draw_modules(
    rows: Sequence[ModuleDifference], found: Sequence[ChangedNode], reveal: Callable[[str], None]
) -> None:
    first = {node.module or OUTSIDE: node.address for node in reversed(found)}
    counts = {"+": "nodes added", MINUS: "nodes gone", "~": "nodes changed"}
    _draw_table(
        module_rows(rows[:LISTED]),
        "changes.modules",
        [first.get(row.path, "") for row in rows[:LISTED]],
        reveal,
        {sign: st.column_config.NumberColumn(help=told, width=44) for sign, told in counts.items()}
        | {
            name: st.column_config.NumberColumn(
                width=84, help="saved for backward; a storage counts where it is saved first"
            )
            for name in ("saved A", "saved B", "difference")
        },
    )


def _difference(count_bytes: int) -> str:
    return f"+{format_bytes(count_bytes)}" if count_bytes > 0 else format_bytes(count_bytes)


def _draw_nodes(compared: Compared, found: Sequence[ChangedNode], reveal: Callable[[str], None]) -> None:
    shown = found[:LISTED]
    _draw_table(
        node_table(shown),
        "changes.nodes",
        [node.address for node in shown],
        reveal,
        {"what differs": st.column_config.TextColumn(width="large")},
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        if len(found) > LISTED:
            st.caption(f"The first {LISTED} of {len(found)} nodes; the file has all.", width="content")
        st.download_button(
            "All of them (CSV)",
            data=lambda: changed_csv(compared),
            file_name="changes.csv",
            mime="text/csv",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )


def _draw_table(
    table: pd.DataFrame | Styler,
    key: str,
    addresses: Sequence[str],
    reveal: Callable[[str], None],
    columns: dict[str, Any],
) -> None:
    def show() -> None:
        rows = st.session_state[key].selection.rows
        if rows and rows[0] < len(addresses) and addresses[rows[0]]:
            reveal(addresses[rows[0]])

    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height=min(TABLE_HEIGHT, 35 * (len(table.index) + 1) + 3),
        on_select=show,
        selection_mode="single-row",
        key=key,
        column_config=columns,
    )


def draw_selected_change(compared: Compared, scene: Scene, before: Traced, address: str | None) -> bool:
    """How the selected node differs from A; a node that only A has is told as A recorded it, and then all is told."""
    nodes = scene.members.get(address or "", ())
    words = [word for node in nodes[:1] for word in compared.changes.get(node, ())]
    if words:
        st.caption(":material/change_history: Changed since A: " + " · ".join(f"`{code_text(word)}`" for word in words))
    gone = scene.ghosts.get(address or "", ())
    if nodes or not gone:
        return False
    if any(box.address == address and box.role != "node" for box in scene.boxes):
        st.caption(f":material/remove: Only A has these {len(gone):,} nodes; open the group to see each.")
    else:
        with st.container(border=True, key="gone"):
            st.caption(":material/remove: Only A has this node; as recorded there:")
            draw_node(before.graph, before.graph.nodes[gone[0]])
    return True
