"""The sidebar of the claims board: which claim is open, which are shown, and the sizes of the open one."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.claims.catalogue import BY_TITLE, CLAIMS
from engine.claims.claim import CORE_API, PRACTICE, Claim
from engine.claims.outcome import Measured
from engine.claims.verdict import KINDS
from engine.runner.contract import Spec, field_ranges
from pages.shared.fields import common_arguments, draw_field, field_value

CLAIM, SHOW = "claims.claim", "claims.show"
ALL, ONE, NOT_RUN = "all claims", "the open claim only", "not run yet"
SHOWN = (ALL, ONE, NOT_RUN, *KINDS, CORE_API, PRACTICE)
MEASURING = ("rounds", "threads", "seed")
MOST_VISIBLE = 5


def draw_controls() -> None:
    """Which claims are on the board, the open claim, and its sizes; how it is measured is folded."""
    st.selectbox("Show", SHOWN, **common_arguments(SHOW, "Which claims the board shows"))
    st.selectbox(
        "Open claim", list(BY_TITLE), **common_arguments(CLAIM, "Its sizes are below, its figures on the board")
    )
    claim = selected_claim()
    sizes = [name for name in fields_of(claim) if name not in MEASURING]
    for name in sizes:
        draw_field(claim.kind, name, key_of(claim, name))
    with st.expander("Measuring", key=f"claims.measuring.{claim.key}"):
        for name in fields_of(claim):
            if name in MEASURING:
                draw_field(claim.kind, name, key_of(claim, name))


def selected_claim() -> Claim:
    """The open claim; the first before its widget is drawn."""
    return BY_TITLE.get(str(st.session_state.get(CLAIM)), CLAIMS[0])


def fields_of(claim: Claim) -> list[str]:
    """Fields of the claim's spec that can be set; one with a single choice cannot."""
    ranges = field_ranges(claim.kind)
    return [name for name in claim.kind.__struct_fields__ if len(ranges[name].choices) != 1]


def key_of(claim: Claim, name: str) -> str:
    """The key of a field's widget."""
    return f"claims.{claim.key}.{name}"


def spec_of(claim: Claim) -> Spec[Measured]:
    """What the controls say for a claim, its defaults where it was never opened; ValueError in words."""
    values: dict[str, Any] = {name: field_value(claim.kind, name, key_of(claim, name)) for name in fields_of(claim)}
    return claim.spec(**values)


def open_claim(claim: Claim) -> None:
    """For a button: open this claim."""
    st.session_state[CLAIM] = claim.title


def show_all() -> None:
    """For a button: every claim on the board."""
    st.session_state[SHOW] = ALL
