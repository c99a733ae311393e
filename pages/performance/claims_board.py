"""The board: how many claims hold, one row per claim, and the figures of the open one under its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from engine.claims.claim import Claim
from engine.claims.verdict import KINDS
from engine.figures.claims_badge import badge_html, not_run_html
from engine.figures.claims_words import figure_words, verdict_words
from pages.performance.claims_controls import ALL, NOT_RUN, ONE, SHOW, open_claim, show_all
from pages.performance.claims_details import draw_details
from pages.performance.claims_queue import ask_for, is_running, is_waiting, quick_claims
from pages.performance.claims_results import Known
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.model_controls import link_values
from pages.shared.navigation import discover_pages
from pages.shared.theme import shown_theme


def draw_board(opened: Claim, results: Sequence[Known]) -> None:
    """Counts per verdict, the button that runs what is quick, and the rows that are shown."""
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
        [KeyNumber(kind.capitalize(), counted[kind], "count", "the rows below") for kind in (*KINDS, "not run")], None
    )
    quick = quick_claims()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run all quick ones",
            icon=":material/playlist_play:",
            key="claims.run-quick",
            disabled=not quick,
            on_click=ask_for,
            args=(quick,),
        )
        slow = sum(not known.claim.quick and known.verdict is None for known in results)
        st.caption(
            f"{len(quick)} claims that take a few seconds each were not run at their sizes; {slow} that take longer "
            "wait for the button on their row.",
            width="content",
        )


def _draw_row(known: Known, is_open: bool) -> None:
    claim = known.claim
    with st.container(border=True, key=f"claims.row.{claim.key}"):
        badge, words, buttons = st.columns([1.45, 5.4, 1.5], vertical_alignment="center", gap="small")
        theme = shown_theme()
        badge.html(badge_html(known.verdict.kind, theme) if known.verdict else not_run_html(_state(claim), theme))
        words.markdown(f"**{claim.title}.** {claim.sentence}")
        if known.verdict is not None and not is_open:
            words.caption(figure_words(known.verdict))
        with buttons.container(
            horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="xsmall"
        ):
            _draw_buttons(claim, is_open, known.verdict is not None)
        if known.verdict is not None and known.verdict.kind in ("holds only when", "could not run here") and is_open:
            st.markdown(f":gray[{verdict_words(known.verdict).capitalize()}]")
        if is_open:
            draw_details(known)


def _state(claim: Claim) -> str:
    return "running" if is_running(claim) else "queued" if is_waiting(claim) else "not run"


def _draw_buttons(claim: Claim, is_open: bool, ran: bool) -> None:
    page = {entry.url_path: entry for entry in discover_pages()}.get(claim.link.address)
    if page is not None:
        state = (link_values(claim.link.model) if claim.link.model else {}) | dict(claim.link.settings)
        st.page_link(page.path, label="", icon=page.icon, query_params=state, help=f"Explained by: {page.title}")
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
