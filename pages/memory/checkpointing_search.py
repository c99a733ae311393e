"""The section of the search: every candidate, the one that fits and recomputes least, forecast against fact."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Outcome, Searched, SearchSpec
from engine.checkpointing.standard import titled
from engine.figures.checkpointing_axes import format_flops
from engine.figures.checkpointing_search import candidates_chart, search_headline
from engine.figures.checkpointing_words import change_words, error_words, gradients_words, literal
from engine.figures.units import format_bytes
from engine.models.shape import block_count
from pages.memory.checkpointing_controls import SECTION, SECTIONS, SHOWN
from pages.memory.checkpointing_exports import search_downloads
from pages.memory.checkpointing_menu import menu_values
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.shared.pytorch_words import draw_said
from pages.shared.theme import shown_theme

CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "filename": "search", "scale": 2}}


def draw_search(spec: SearchSpec, exports: DeltaGenerator) -> None:
    """Candidates as a picture, what was chosen in numbers, then forecast against fact."""
    found = compute(spec)
    draw_exports(exports, search_downloads(spec, found))
    pinned = pinned_spec(SearchSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
    if found.error is not None:
        draw_said("The search stopped", found.error)
        return
    _draw_headline(found, block_count(spec.model.architecture))
    if found.candidates:
        st.plotly_chart(candidates_chart(found, shown_theme()), key="budget.chart", config=CONFIG)
    draw_key_numbers(search_numbers(spec, found), search_numbers(spec, before) if before is not None else None)
    if found.measured:
        st.markdown("**Forecast against fact**")
        st.dataframe(pd.DataFrame(measured_rows(spec, found)), hide_index=True, width="stretch")
    with st.expander(f"All {len(found.candidates)} candidates", key="budget.all"):
        _draw_candidates(found)
    for note in found.notes:
        st.caption(note)


def _draw_headline(found: Searched, blocks: int) -> None:
    words, fits = search_headline(found), found.policy is not None
    told, look = st.columns([5, 1], vertical_alignment="center")
    draw = told.success if fits else told.warning
    draw(literal(words), icon=":material/check_circle:" if fits else ":material/block:")
    if found.policy is not None and found.policy != Policy():
        look.button(
            "See its graph",
            icon=":material/account_tree:",
            key="budget.look",
            on_click=_look_at,
            args=(found.policy, blocks),
            help="Adds it to the policies as your own",
            width="stretch",
        )


def _look_at(policy: Policy, blocks: int) -> None:
    for key, value in menu_values(("√n segments",), policy).items():
        st.session_state[key] = value
    st.session_state[SHOWN] = titled(policy, blocks)
    st.session_state[SECTION] = SECTIONS[0]


def search_numbers(spec: SearchSpec, found: Searched) -> tuple[KeyNumber, ...]:
    """Budget, what off takes, what the chosen one takes by forecast and in fact, what it runs again."""
    chosen = next((one for one in found.candidates if one.chosen), None)
    fact = outcome_of(found, found.policy)
    what = "held for backward" if spec.budget_of == "held_bytes" else "peak"
    measured = getattr(fact, spec.budget_of, None)
    return (
        KeyNumber("Budget", found.budget_bytes, "bytes", "the slider: a share of what off is forecast to take"),
        KeyNumber("Off", found.off_bytes, "bytes", f"{what} without any policy, counted where it was run"),
        KeyNumber("Chosen, est.", chosen.budgeted_bytes if chosen else None, "bytes", f"forecast: {what}", "none fits"),
        KeyNumber("Chosen, fact", measured, "bytes", f"the same, counted while it ran: {what}", "not run"),
        KeyNumber(
            "FLOPs again",
            fact.recomputed_flops / fact.forward_flops if fact is not None and fact.forward_flops else None,
            "%",
            "`torch.utils.flop_counter` in backward, share of the forward's",
            "not run",
        ),
        KeyNumber(
            "Least possible",
            found.smallest_bytes,
            "bytes",
            "the smallest of all candidates, counted where run, else forecast",
        ),
    )


def outcome_of(found: Searched, policy: Policy | None) -> Outcome | None:
    """What was measured of a policy."""
    return next((one for one in found.measured if one.policy == policy), None)


def measured_rows(spec: SearchSpec, found: Searched) -> list[dict[str, str]]:
    """The chosen policy, sqrt(n) segments and off: what was forecast, what was counted."""
    forecast = {one.policy: one for one in found.candidates}
    off = outcome_of(found, Policy())
    base = getattr(off, spec.budget_of, None)
    rows = []
    for one in found.measured:
        told, fact = forecast.get(one.policy), getattr(one, spec.budget_of)
        rows.append(
            {
                "policy": label_of(one.policy),
                "estimated": format_bytes(told.budgeted_bytes) if told else "",
                "counted": "refused" if fact is None else format_bytes(fact),
                "error": error_words(told.budgeted_bytes if told else None, fact),
                "against off": change_words(fact, base),
                "FLOPs again": format_flops(one.recomputed_flops),
                "fits": "yes" if fact is not None and fact <= found.budget_bytes else "no",
                "gradients": gradients_words(one),
            }
        )
    return rows


def _draw_candidates(found: Searched) -> None:
    rows: Sequence[dict[str, object]] = [
        {
            "policy": label_of(one.policy),
            "found by": one.found_by,
            "bytes (estimated)": one.budgeted_bytes,
            "bytes counted": one.measured_bytes,
            "FLOPs again": one.recomputed_flops,
            "seconds again (estimated)": one.recomputed_s,
            "fits": one.fits,
            "chosen": one.chosen,
        }
        for one in found.candidates
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")
