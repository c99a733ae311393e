"""The board: how many claims hold, one row per claim, and the figures of the open one under its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from engine.claims.claim import Claim
from engine.claims.verdict import KINDS
from engine.figures.claims_badge import badge_html, not_run_html
from engine.figures.claims_words import figure_words, first_upper, tally, verdict_words
from pages.performance.claims_controls import ALL, NOT_RUN, ONE, SHOW, open_claim, show_all
from pages.performance.claims_details import draw_details
from pages.performance.claims_links import draw_link
from pages.performance.claims_queue import ask_for, is_running, is_waiting
from pages.performance.claims_results import Known
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

BADGE_PIXELS = 170
STYLE = Path(__file__).parent / "claims.css"


def draw_board(opened: Claim, results: Sequence[Known]) -> None:
    """Counts per verdict, and the rows that are shown."""
    st.html(STYLE)
    shown = [known for known in results if _is_shown(known, opened)]
    if st.session_state.get(SHOW, ALL) != ONE:
        _draw_summary(results)
    for known in shown:
        _draw_row(known, known.claim is opened)
    if not shown:
        st.info("No claim stands there now. Choose another entry in *Show*, or run some.", icon=":material/filter_alt:")
    if len(shown) < len(results):
        st.button(f"Show all {len(results)} claims", icon=":material/list:", key="claims.all", on_click=show_all)


def _is_shown(known: Known, opened: Claim) -> bool:
    show = st.session_state.get(SHOW, ALL)
    if show in KINDS:
        return known.verdict is not None and known.verdict.kind == show
    if show == NOT_RUN:
        return known.verdict is None
    return show == ALL or (known.claim is opened if show == ONE else known.claim.article == show)


def _draw_summary(results: Sequence[Known]) -> None:
    counted = Counter(known.verdict.kind if known.verdict else "not run" for known in results)
    draw_key_numbers(
        [KeyNumber(first_upper(kind), counted[kind], "count", "the rows below") for kind in (*KINDS, "not run")], None
    )


def _draw_row(known: Known, is_open: bool) -> None:
    claim, verdict = known.claim, known.verdict
    with st.container(border=True, key=f"claims.row.{claim.key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            with st.container(width=BADGE_PIXELS, gap=None):
                _draw_badge(known)
            with st.container(width="stretch", key=f"claims.words.{claim.key}", gap=None):
                st.markdown(f"**{claim.title}.** {claim.sentence}")
                if verdict is not None and not is_open:
                    st.caption(figure_words(verdict))
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", width="content"):
                _draw_buttons(claim, is_open, verdict is not None)
        if verdict is not None and is_open:
            st.markdown(f":gray[{first_upper(verdict_words(verdict))}.]")
        if is_open:
            draw_details(known)


def _draw_badge(known: Known) -> None:
    theme, verdict = shown_theme(), known.verdict
    st.html(badge_html(verdict.kind, theme) if verdict else not_run_html(_state(known.claim), theme))
    if verdict is not None and tally(verdict):
        st.caption(first_upper(tally(verdict)))


def _state(claim: Claim) -> str:
    return "running" if is_running(claim) else "queued" if is_waiting(claim) else "not run"


def _draw_buttons(claim: Claim, is_open: bool, ran: bool) -> None:
    draw_link(claim)
    st.button(
        "",
        icon=":material/replay:" if ran else ":material/play_arrow:",
        key=f"claims.run.{claim.key}",
        help=("Run it again" if ran else "Run it at these sizes") + ("" if claim.quick else "; it takes a while"),
        disabled=is_running(claim) or is_waiting(claim),
        on_click=run_claim,
        args=(claim,),
    )
    st.button(
        "",
        icon=":material/expand_less:" if is_open else ":material/expand_more:",
        key=f"claims.open.{claim.key}",
        help="Figures, experiment and code",
        disabled=is_open,
        on_click=open_claim,
        args=(claim,),
    )


def run_claim(claim: Claim) -> None:
    """For a button: run this claim, afresh if it ran before, and open it."""
    open_claim(claim)
    ask_for([claim], afresh=True)
