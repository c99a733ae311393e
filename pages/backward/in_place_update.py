"""The section on an optimizer's update: allocations of each form, and what becomes of the parameters."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.in_place_chart import allocation_bars
from engine.figures.in_place_table import UPDATE_COLUMNS, update_rows
from engine.in_place.spec import Updated
from pages.backward.in_place_numbers import update_numbers
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme

WORDS = (
    "**In place** writes where the parameter lies: no new storage, `data_ptr` kept, the version counter rises, so a "
    "graph "
    "that still needs the old parameter notices. **New data** (`p.data = p.data - …`) makes two storages per parameter "
    "and moves the tensor to the second; whoever kept a view or a `data_ptr` of the old one keeps the old values, and "
    "the version counter stays: nobody notices. **Rebinding** (`p = p - …`) makes another tensor, which is no leaf and "
    "drags the update's history along: its `.grad` stays empty in the next step. `torch.optim.SGD` is the in-place "
    "form; "
    "`foreach` does the same for all parameters in one call.\n\n"
    "Counted are new storages in what operators return (TorchDispatchMode); memory that a kernel uses inside of itself "
    "is not seen. Versions are read outside of that mode, one step before and after."
)


def draw_update(updated: Updated, before: Updated | None) -> None:
    """Bars of bytes, numbers, and a row per form."""
    st.plotly_chart(
        allocation_bars(updated, shown_theme()), key="in_place.bars", config={"displayModeBar": False}, width="stretch"
    )
    draw_key_numbers(update_numbers(updated), update_numbers(before) if before is not None else None)
    table = pd.DataFrame(update_rows(updated), columns=list(UPDATE_COLUMNS))
    st.dataframe(table, hide_index=True, width="stretch", height="content")
    with st.expander("How to read this", key="in_place.update.explained"):
        st.markdown(WORDS)
