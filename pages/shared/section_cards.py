"""The cards of the start page: what each page answers, as questions that open a preset."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import streamlit as st

from pages.shared.navigation import PageEntry, discover_pages
from pages.shared.presets import Preset, apply_preset

OPEN = "open-page"
AT_FIRST = 6
"""Questions of a page that are in sight at once."""


def presets_of(entry: PageEntry) -> Sequence[Preset]:
    """The `PRESETS` of `pages/<section>/<name>_presets.py`, where <name> is the page's file without its number."""
    name = f"pages.{entry.section}.{entry.path.stem.partition('_')[2]}_presets"
    return tuple(import_module(name).PRESETS) if find_spec(name) else ()


def draw_section_cards() -> None:
    """One card per page that asks a question, with its presets as buttons."""
    _open_if_asked()
    for entry in discover_pages():
        if entry.section == "start":
            continue
        with st.container(border=True, key=f"card.{entry.url_path}"):
            st.page_link(entry.path, label=f"**{entry.title}**", icon=entry.icon)
            st.caption(entry.question)
            questions = list(enumerate(presets_of(entry)))
            _draw_questions(entry, questions[:AT_FIRST])
            if rest := questions[AT_FIRST:]:
                with st.expander(f"{len(rest)} more questions", type="compact"):
                    _draw_questions(entry, rest)


def _draw_questions(entry: PageEntry, questions: Sequence[tuple[int, Preset]]) -> None:
    with st.grid("auto", min_column_width=300, gap="xsmall"):
        for number, preset in questions:
            st.button(
                preset.question,
                key=f"open.{entry.url_path}.{number}",
                on_click=_open,
                args=(entry, preset, number),
                type="secondary",
                width="stretch",
                wrap=True,
            )


def _open(entry: PageEntry, preset: Preset, number: int) -> None:
    apply_preset(preset, number)
    st.session_state[OPEN] = (str(entry.path), preset)


def _open_if_asked() -> None:
    # Switching inside the callback would lose the widget values that it has just set.
    path, preset = st.session_state.pop(OPEN, (None, None))
    if path:
        st.switch_page(path, query_params=preset.link_values())
