"""The section of programs side by side: one row per program, with a way to open it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.in_place_table import FAMILY_COLUMNS, OUTCOMES, family_rows
from engine.figures.palette import MUTED, Theme, meaning
from engine.in_place.families import FAMILIES
from engine.in_place.results import Outcome
from engine.in_place.spec import Family, FamilySpec
from pages.backward.in_place_controls import use_program
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

WIDTHS = {"statement": 190, "outcome": 145, "version": 60, "grad_fn": 140, "gradient": 170}
ROW_PIXELS = 46
"""Room for text that wraps: two lines."""
MEANINGS = {
    "runs": "claim_holds",
    "raises": "claim_fails",
    "breaks backward": "modified",
    "would break backward": "modified",
    "wrong gradient": "overwritten",
}
MARKS = {
    "runs": "✓",
    "raises": "✕",
    "refused": "✕",
    "breaks backward": "▲",
    "would break backward": "▲",
    "wrong gradient": "≠",
}
ASK = "Select a row to read what PyTorch said in full, and to open the program."


def draw_family(spec: FamilySpec, family: Family, before: Family | None) -> None:
    """The question, the table, the numbers, and the program of the selected row."""
    st.markdown(f"##### {FAMILIES[spec.name].question}")
    chosen = _draw_table(spec, family)
    draw_key_numbers(family_numbers(family), family_numbers(before) if before is not None else None)
    if chosen is None:
        st.caption(ASK)
        return
    member, outcome = FAMILIES[spec.name].members[chosen], family.outcomes[chosen]
    code, words = st.columns(2, gap="medium")
    code.code(member.program, language="python")
    with words:
        if outcome.error is not None:
            st.code(f"{outcome.error.type}: {outcome.error.message}", language=None, wrap_lines=True)
        else:
            st.markdown(f"{MARKS[outcome.verdict]} {OUTCOMES[outcome.verdict]}")
        st.button(
            "Open this program", key="in_place.open", icon=":material/open_in_new:", on_click=use_program,
            args=(member.program,),
        )  # fmt: skip


def _draw_table(spec: FamilySpec, family: Family) -> int | None:
    rows = family_rows(spec, family)
    table = pd.DataFrame(rows, columns=list(FAMILY_COLUMNS))
    table["outcome"] = [f"{MARKS[one.verdict]} {OUTCOMES[one.verdict]}" for one in family.outcomes]
    theme = shown_theme()
    styled = table.style.apply(lambda column: [_ink(one, theme) for one in family.outcomes], subset=["outcome"])
    configured = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()}
    event = st.dataframe(
        styled, row_height=ROW_PIXELS, hide_index=True, width="stretch", height="content", column_config=configured,
        on_select="rerun", selection_mode="single-row", key=f"in_place.table.{spec.name}",
    )  # fmt: skip
    selected = event.selection.rows
    return int(selected[0]) if selected and selected[0] < len(rows) else None


def _ink(outcome: Outcome, theme: Theme) -> str:
    colour = meaning(MEANINGS[outcome.verdict]).accent(theme) if outcome.verdict in MEANINGS else MUTED[theme]
    return f"color: {colour}; font-weight: 600"


def family_numbers(family: Family) -> tuple[KeyNumber, ...]:
    """How many programs ended in which way."""
    count = {verdict: sum(one.verdict == verdict for one in family.outcomes) for verdict in OUTCOMES}
    return (
        KeyNumber("Programs", len(family.outcomes), "count", "the rows above, each run by itself"),
        KeyNumber("Allowed", count["runs"], "count", "programs that ran, with every saved tensor as it was saved"),
        KeyNumber("Refused", count["raises"], "count", "programs in which a statement raised"),
        KeyNumber("At backward", count["breaks backward"], "count", "programs whose backward met another version"),
        KeyNumber(
            "Wrong gradient", count["wrong gradient"], "count", "programs that overwrote a saved tensor unnoticed"
        ),
    )
