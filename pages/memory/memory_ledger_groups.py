"""Live bytes by module, operation or source line as a table, beside those of pinned A."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.memory_words import category_words
from engine.figures.units import format_bytes
from engine.memory.ledger import GROUPINGS, Grouping, bytes_by
from engine.memory.spec import MemoryTrace

GROUPED = "memory_ledger.grouped"
TALLEST = 460
ROW_HEIGHT = 35


def group_table(
    trace: MemoryTrace, event: int, grouping: Grouping, before: tuple[MemoryTrace, int] | None = None
) -> pd.DataFrame:
    """One row per group, most bytes first; with A also its bytes and the difference to it, largest change first."""
    found = bytes_by(trace, event, grouping)
    total = sum(found.values()) or 1
    old = {} if before is None else bytes_by(*before, grouping)
    names = list(dict.fromkeys([*found, *old]))
    if before is not None:
        names.sort(key=lambda name: -abs(found.get(name, 0) - old.get(name, 0)))
    table = pd.DataFrame(
        {
            grouping: [category_words(name) if grouping == "category" else name for name in names],
            "bytes": [found.get(name, 0) for name in names],
            "share": [found.get(name, 0) / total for name in names],
        }
    )
    if before is not None:
        table["A, bytes"] = [old.get(name, 0) for name in names]
        table["difference, bytes"] = table["bytes"] - table["A, bytes"]
    return table


def draw_groups(trace: MemoryTrace, event: int, before: tuple[MemoryTrace, int] | None) -> None:
    """The choice of a grouping and its table."""
    chosen = st.segmented_control(
        "by", GROUPINGS, default="module", required=True, key=GROUPED, label_visibility="collapsed"
    )
    grouping = next(one for one in GROUPINGS if one == (chosen or "module"))
    table = group_table(trace, event, grouping, before)
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height="content" if ROW_HEIGHT * (len(table) + 1) < TALLEST else TALLEST,
        column_config={
            "share": st.column_config.ProgressColumn("share", min_value=0.0, max_value=1.0, format="percent"),
            **{
                name: st.column_config.NumberColumn(name, format="localized")
                for name in ("bytes", "A, bytes", "difference, bytes")
            },
        },
    )
    told = f"{format_bytes(int(table['bytes'].sum()))} in {len(table)} groups"
    st.caption(f"{told}{'' if before is None else '; sorted by the change since A'}.")
