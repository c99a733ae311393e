"""Everything that was recorded, in tables: steps, what leaves accumulated use by use, passes, hooks."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine import run
from engine.figures.replay_rows import Row, accumulation_rows, hook_rows, pass_rows, step_rows
from engine.figures.units import format_count
from engine.replay.spec import Replay, ReplaySpec
from pages.backward.replay_look import go_to
from pages.shared.kept import Kept

SHORTENED = ("began µs", "took µs", "received_norm", "returned_norm")
KEPT_ROWS = 200_000
ROWS_SENT = 5000
"""Rows a browser gets at once."""


_rows: Kept[list[Row]] = Kept(KEPT_ROWS, len)


def draw_steps(spec: ReplaySpec) -> None:
    """All steps in the engine's order, to be filtered; a click on one shows it in the picture."""
    rows = _rows.get(spec, lambda: step_rows(run(spec)))
    kinds = sorted({row["kind"] for row in rows})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Filter", key="steps.filter", placeholder="node, module or leaf", max_chars=200, width=260
        )
        kind = st.segmented_control("Kind", kinds, key="steps.kind") if len(kinds) > 1 else None
    kept = [row for row in rows if (not kind or row["kind"] == kind) and _matches(row, words)]
    st.caption(f"{format_count(len(kept))} of {format_count(len(rows))} steps. Click a row to go there in the picture.")
    event = st.dataframe(
        step_table(kept[:ROWS_SENT]),
        hide_index=True,
        width="stretch",
        height=420,
        key="steps",
        on_select="rerun",
        selection_mode="single-row",
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in SHORTENED},
    )
    chosen = event.selection.rows
    if chosen and chosen[0] < len(kept):
        number = int(kept[chosen[0]]["step"]) - 1
        st.button(
            f"Show step {number + 1} in the picture",
            icon=":material/center_focus_strong:",
            on_click=go_to,
            args=(number,),
        )
    if len(kept) > ROWS_SENT:
        st.caption(f"The first {format_count(ROWS_SENT)} are shown; the CSV under Export has all.")


def step_table(rows: Sequence[Row]) -> pd.DataFrame:
    """These rows with times in microseconds, as steps take."""
    table = pd.DataFrame(rows, columns=list(rows[0]) if rows else None)
    for name in ("begun", "took"):
        if rows:
            table[f"{name}_s"] *= 1e6
    return table.rename(columns={"begun_s": "began µs", "took_s": "took µs"})


def _matches(row: Row, words: str) -> bool:
    text = f"{row['node']} {row['module']} {row['note']}".lower()
    return all(word in text for word in words.lower().split())


def draw_accumulation(replay: Replay) -> None:
    """Use by use: what every use of a leaf handed to it, the sum, and `.grad` before and after."""
    if not replay.accumulations:
        st.caption("Nothing was accumulated: no backward() call reached a leaf.")
        return
    uses: dict[str, int] = {}
    for one in replay.accumulations:
        uses[one.leaf] = max(uses.get(one.leaf, 0), len(one.contributions))
    names = sorted(uses, key=lambda name: -uses[name])
    labels = {name: f"{name} · {uses[name]} uses" if uses[name] > 1 else name for name in names}
    leaf = st.selectbox("Leaf", names, format_func=labels.__getitem__, key="accumulation.leaf")
    rows = accumulation_rows(replay, leaf)
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")
    exact = {one.is_exact for one in replay.accumulations if one.leaf == leaf}
    if exact == {True}:
        st.caption("Added in this order, the uses give `.grad` bit for bit.")
    elif False in exact:
        st.caption("Added in this order, the uses do not give `.grad` bit for bit.")
    else:
        st.caption("A hook changed the gradient on its way, so the uses do not add up to `.grad`.")


def draw_passes(replay: Replay) -> None:
    """Every backward() call, PyTorch's errors in its own words, and the hooks that ran."""
    st.dataframe(pd.DataFrame(pass_rows(replay)), hide_index=True, width="stretch")
    draw_errors(replay)
    if replay.hook_calls:
        st.markdown("Hooks that ran")
        st.dataframe(pd.DataFrame(hook_rows(replay)), hide_index=True, width="stretch")


def draw_errors(replay: Replay) -> None:
    """What PyTorch raised, in its own words."""
    if replay.error:
        st.error(f"PyTorch raised **{replay.error.type}** in {replay.error.stage}:", icon=":material/report:")
        st.code(replay.error.message, language=None, wrap_lines=True)
    for one in replay.passes:
        if one.error:
            several = len(replay.passes) > 1
            which = f"in backward() call {one.number + 1} of {len(replay.passes)}" if several else "in backward"
            st.error(f"PyTorch raised **{one.error.type}** {which}:", icon=":material/report:")
            st.code(one.error.message, language=None, wrap_lines=True)
