"""The table of live blocks, and what is said of the chosen one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import pandas as pd
import streamlit as st

from engine import run
from engine.figures.memory_words import (
    category_words,
    counts_words,
    keeps_words,
    layout_words,
    life_words,
    source_words,
)
from engine.figures.units import format_bytes, format_count, format_exact_bytes, format_shape, shorten
from engine.memory.ledger import phase_at
from engine.memory.spec import Held, MemorySpec, MemoryTrace
from pages.shared.bound import read_parameter
from pages.shared.fields import common_arguments

BLOCK = "block"
"""Link parameter: the chosen block, with a sum of the run it belongs to."""
FILTER, CATEGORIES_SHOWN = "memory_ledger.filter", "memory_ledger.categories"
ROWS_SENT = 1000
ALWAYS_THERE = ("parameter", "buffer", "input")
TALLEST = 430
ROW_HEIGHT = 35
TWO_LINES = "<style>.st-key-memory-chosen { min-height: 3.4rem; }</style>"
"""The picture below does not jump where the next block's sentence is shorter."""
COLUMNS = {
    "bytes": st.column_config.NumberColumn("bytes", format="localized"),
    "share": st.column_config.ProgressColumn("share", min_value=0.0, max_value=1.0, format="percent", width=130),
    "held by": st.column_config.TextColumn(help="Everything that refers to its storage: one block, however many views"),
}


def sum_of(spec: MemorySpec) -> str:
    """A short sum of the settings of a run."""
    return f"{zlib.crc32(msgspec.msgpack.encode(spec)):08x}"


def choose_block(spec: MemorySpec, index: int) -> None:
    """Put a block into the link; call it from a callback."""
    st.query_params[BLOCK] = f"{sum_of(spec)}.{index}"


def chosen_block(spec: MemorySpec, trace: MemoryTrace, alive: Sequence[int]) -> int | None:
    """The block of the link, if it is of this run; else the largest of `alive` that some toggle could free."""
    told, _, number = read_parameter(BLOCK).partition(".")
    if told == sum_of(spec) and number.isdecimal() and len(number) < 9 and int(number) < len(trace.blocks):
        return int(number)
    categories = trace.blocks.category.values()  # what is always there keeps its category
    return next((index for index in alive if categories[index] not in ALWAYS_THERE), alive[0] if alive else None)


def draw_chosen(spec: MemorySpec, trace: MemoryTrace, event: int, index: int | None) -> None:
    """What keeps a block alive and what would free it, and its facts."""
    draw_kept(spec, trace, event, index)
    draw_facts(trace, index)


def draw_kept(spec: MemorySpec, trace: MemoryTrace, event: int, index: int | None) -> None:
    """What keeps a block alive after `event` and what would free it, in one sentence."""
    if index is None:
        st.caption("Nothing is alive at this moment.")
        return
    held = trace.blocks[index]
    alive = index in trace.blocks.alive_at(event)
    st.html(TWO_LINES)
    with st.container(key="memory-chosen", gap="xsmall"):
        name = shorten(held.name, 90).replace("`", "ˋ") or "no name"
        gone = "" if alive else " · :red-badge[not alive at this moment]"
        counts = counts_words(held, event if alive else None)
        st.markdown(f"Chosen block: **`{name}`** · {format_bytes(held.bytes)} · {counts}{gone}")
        st.markdown(keeps_words(spec, trace, held, event if alive else held.born))


def draw_facts(trace: MemoryTrace, index: int | None) -> None:
    """Shape, exact bytes, maker and life of a block."""
    if index is None:
        return
    held = trace.blocks[index]
    made = f"made by `{held.operation or '?'}`" + (f" in `{held.module}`" if held.module else "")
    line = f" · `{shorten(source_words(held), 90).replace('`', 'ˋ')}`" if held.source is not None else ""
    st.caption(
        f"**`{shorten(held.name, 90).replace('`', 'ˋ') or 'no name'}`** · {layout_words(held)} · "
        f"{format_exact_bytes(held.bytes)} · {made}{line} · {life_words(trace, held)}"
    )


@lru_cache(maxsize=16)
def block_table(spec: MemorySpec, event: int) -> pd.DataFrame:
    """One row per block alive after `event`, largest first; the index is the block's number."""
    trace = run(spec)
    return rows_table(trace, trace.blocks.alive_at(event).tolist(), event)


def rows_table(trace: MemoryTrace, indices: Sequence[int], event: int) -> pd.DataFrame:
    """One row per block, with what it counts as after `event`."""
    total = sum(int(trace.blocks.sizes[index]) for index in indices) or 1
    rows = [_row(trace, trace.blocks[index], event, total) for index in indices]
    names = [
        "name",
        "bytes",
        "share",
        "category",
        "shape",
        "dtype",
        "module",
        "operation",
        "line",
        "held by",
        "born in",
    ]
    return pd.DataFrame(rows, columns=names, index=list(indices))


def _row(trace: MemoryTrace, held: Held, event: int, total: int) -> tuple[object, ...]:
    phase = phase_at(trace, held.born)
    return (
        held.name,
        held.bytes,
        held.bytes / total,
        category_words(held.category_at(event)),
        "" if held.shape is None else format_shape(held.shape),
        held.dtype,
        held.module,
        held.operation,
        source_words(held),
        ", ".join(held.holders),
        "" if phase is None else f"{phase.name} {phase.step}" if phase.step else phase.name,
    )


def draw_blocks(spec: MemorySpec, event: int) -> None:
    """The table with a filter; a click on a row chooses its block. Of a long one the largest rows are sent."""
    every = block_table(spec, event)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=300):
            text = st.text_input(
                "Filter", placeholder="name, module, operation, line", **common_arguments(FILTER, "Any case")
            )
        with st.container(width=380):
            kinds = st.multiselect("Category", sorted(every["category"].unique()), key=CATEGORIES_SHOWN)
    table = filter_table(every, text or "", kinds)
    shown = table.head(ROWS_SENT)
    st.caption(rows_told(table, every))

    def selected() -> None:
        rows = st.session_state.get("memory_ledger.table", {}).get("selection", {}).get("rows", [])
        if rows and 0 <= rows[0] < len(shown):
            choose_block(spec, int(shown.index[rows[0]]))

    st.dataframe(
        shown,
        hide_index=True,
        width="stretch",
        height="content" if ROW_HEIGHT * (len(shown) + 1) < TALLEST else TALLEST,
        column_config=COLUMNS,
        key="memory_ledger.table",
        on_select=selected,
        selection_mode="single-row",
    )


def rows_told(table: pd.DataFrame, every: pd.DataFrame) -> str:
    """How many rows there are, their bytes, and that the long rest is in the file."""
    told = f"{format_count(len(table))} of {format_count(len(every))} blocks, {format_bytes(int(table['bytes'].sum()))}"
    if len(table) > ROWS_SENT:
        told += f"; the {format_count(ROWS_SENT)} largest are shown, the CSV of the menu Export has all"
    return f"{told}. One row per storage: views and tied weights are one block with several holders."


def filter_table(table: pd.DataFrame, text: str, kinds: Sequence[str]) -> pd.DataFrame:
    """Rows in which `text` stands (any case, taken literally) and whose category is in `kinds`."""
    searched = table["name"] + "\n" + table["module"] + "\n" + table["operation"] + "\n" + table["line"]
    keep = (searched + "\n" + table["held by"]).str.contains(text, case=False, regex=False)
    return table[keep & table["category"].isin(kinds)] if kinds else table[keep]
