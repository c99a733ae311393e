"""Below the numbers: one row explained, torch's table, who freed what, what is alive, and torch's own text."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from engine.figures.profiler_rows import is_around, labels_of, node_first
from engine.figures.profiler_table import TABLE_COLUMNS, own_bytes, table_rows
from engine.figures.profiler_words import COLUMNS, Column, alive_rows, flow_rows, row_words, sum_words
from engine.figures.units import format_exact_bytes
from engine.profiler.spec import Profiled
from pages.memory.profiler_row import choose_row

TABLE = "profiler.table"
ROOM = 116
"""Pixels that a row's sentences have, so that what follows stays where it is."""
TABS = ["The table", "Who freed it", "Still alive", "torch's own text", "How to read this"]
HOW_TO_READ = (
    "torch.profiler notes every allocation and free with the operation that was running. **Self Mem** is their sum "
    "inside the operation itself, **CPU Mem** that with all operations it called. A block counts for the one that "
    "allocated it, and, negative, for the one in which its last reference went: so a row is negative when it frees "
    "what others made, as a node of backward does with a gradient it has used. `[memory]` collects what happens in "
    "no operation. All rows of Self Mem add up to what is still alive. Nothing in this table is a peak: an operation "
    "that allocates and frees 1 GiB shows 0."
)


def draw_explained(profiled: Profiled, place: int | None) -> None:
    """The chosen row in sentences, and what all rows add up to."""
    if place is not None:
        with st.container(height=ROOM, border=False, key="profiler.explained"):
            st.markdown(row_words(profiled, place))
    st.caption(sum_words(profiled))
    if profiled.unexplained_bytes:
        st.warning(
            f"torch's table and the allocation events differ by {format_exact_bytes(profiled.unexplained_bytes)} over "
            f"all rows: torch assigns by time, and another thread allocated meanwhile.",
            icon=":material/rule:",
        )
    for note in profiled.notes:
        st.caption(note)


def draw_details(profiled: Profiled, before: Profiled | None, place: int | None) -> None:
    """The tabs."""
    table, flows, alive, text, reading = st.tabs(TABS, key="profiler.details", on_change="rerun")
    if table.open:
        with table:
            draw_table(profiled, before)
    if flows.open:
        with flows:
            _draw_flows(profiled, place)
    if alive.open:
        with alive:
            _draw_alive(profiled)
    if text.open:
        with text:
            _draw_text(profiled)
    if reading.open:
        with reading:
            st.markdown(HOW_TO_READ)
            st.markdown("\n".join(["| column | says | read from |", "|---|---|---|", *map(_column_line, COLUMNS)]))


def _column_line(column: Column) -> str:
    return f"| **{column.title}** | {column.words} | {column.read_from} |"


def draw_table(profiled: Profiled, before: Profiled | None) -> None:
    """Every row of key_averages(), the largest self memory of either sign first; a click on a row explains it."""
    columns = TABLE_COLUMNS + (("Self Mem − A",) if before else ())
    frame = pd.DataFrame(table_rows(profiled, before), columns=list(columns))
    names = labels_of(profiled.rows)

    def choose() -> None:
        chosen = st.session_state[TABLE].selection.rows
        if chosen and chosen[0] < len(frame):
            choose_row(names[order[chosen[0]]])

    inside = [place for place, row in enumerate(profiled.rows) if not is_around(row)]
    order = sorted(inside, key=lambda place: -abs(own_bytes(profiled.rows[place])))
    frame = frame.iloc[order].reset_index(drop=True)
    frame["Name"] = frame["Name"].map(node_first)
    st.dataframe(
        frame,
        key=TABLE,
        on_select=choose,
        selection_mode="single-row",
        hide_index=True,
        width="stretch",
        height=430,
        column_config=_configuration(frame),
    )
    st.caption(
        "Largest of either sign first. Point at a column's name to read what it says; a click on it sorts, the "
        "magnifier searches."
    )


def _configuration(frame: pd.DataFrame) -> dict[str, Any]:
    says = {column.title: f"{column.words} Read from {column.read_from}." for column in COLUMNS}
    says["Self Mem − A"] = "Self Mem of this run less that of the row of the same name in A."
    found: dict[str, Any] = {"Name": st.column_config.TextColumn("Name", help=says["Name"], pinned=True, width=270)}
    for title in frame.columns[1:]:
        bare = title.partition(", ")[0]
        if frame[title].dtype == object:
            found[title] = st.column_config.TextColumn(title, help=says.get(bare))
        else:
            found[title] = st.column_config.NumberColumn(title, help=says.get(bare), format="localized")
    return found


def _draw_flows(profiled: Profiled, place: int | None) -> None:
    only = st.toggle("Only the chosen row", key="profiler.only_row", value=False)
    rows = flow_rows(profiled, place if only else None)
    columns = ["allocated by", "freed by", "blocks", "bytes"]
    _draw_bytes(pd.DataFrame(rows, columns=columns))


def _draw_alive(profiled: Profiled) -> None:
    columns = ["kind", "what refers to it", "allocated by", "bytes"]
    _draw_bytes(pd.DataFrame(alive_rows(profiled), columns=columns))


def _draw_bytes(frame: pd.DataFrame) -> None:
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        height=360,
        column_config={
            "bytes": st.column_config.NumberColumn(format="localized", width=110),
            "blocks": st.column_config.NumberColumn(width=70),
            "kind": st.column_config.TextColumn(width=150),
        },
    )


def _draw_text(profiled: Profiled) -> None:
    whole = st.toggle("Every row", key="profiler.every_row", help="row_limit=-1 instead of the article's 10")
    st.code(profiled.whole_table if whole else profiled.table, language=None, height=420)
    negative = sum(own_bytes(row) < 0 for row in profiled.rows)
    st.caption(
        f'`prof.key_averages().table(sort_by="{profiled.sort_by}", row_limit={-1 if whole else 10})`: sorted '
        f"downwards, so row_limit cuts the {negative} negative rows off first. KB and MB are 1024 and 1024² bytes."
    )
