"""The page that explains a claim opens with the settings that show the point, and refuses none of them."""

from __future__ import annotations

import pytest
import streamlit as st

from engine.claims.catalogue import CLAIMS
from engine.machine.spec import MachineSpec
from pages.performance.claims_links import link_parameters
from pages.shared import jobs
from pages.shared.link import link_text
from pages.shared.model_controls import TITLES
from pages.shared.navigation import discover_pages
from pages.shared.presets import CHOSEN
from pages.shared.section_cards import presets_of
from tests.app.pages_under_test import errors, open_page

PAGES = {entry.url_path: entry for entry in discover_pages()}
every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)


def parameters(claim):
    return link_parameters(claim.link, PAGES[claim.link.address])


@pytest.fixture
def asked(monkeypatch):
    """Specs that a page asks for; it ends there, as nothing has to be computed to see what a link set."""
    found = []

    def keep(spec, **_):
        found.append(spec)
        st.stop()

    monkeypatch.setattr(jobs, "submit", keep)
    return found


@every_claim
def test_a_link_leads_to_a_page_and_a_question_that_is_there(claim):
    assert claim.link.address in PAGES
    assert parameters(claim)
    questions = [preset.question for preset in presets_of(PAGES[claim.link.address])]
    assert claim.link.question in ("", *questions)


@pytest.mark.slow
@every_claim
def test_a_link_sets_what_it_says_and_is_not_refused(claim, asked):
    wanted = parameters(claim)
    app = open_page(PAGES[claim.link.address].path, **wanted)
    assert errors(app) == []
    assert [error.value for error in app.error] == []
    assert [type(spec) for spec in asked if not isinstance(spec, MachineSpec)], "the page computes nothing"
    state, questions = app.session_state, [preset.question for preset in presets_of(PAGES[claim.link.address])]
    shown = {key: link_text(state[key]) for key in wanted if key in state}
    if "model" in shown:
        shown["model"] = TITLES[shown["model"]]
    if CHOSEN in shown:
        shown[CHOSEN] = questions[state[CHOSEN]]
    # A control that only shows once its tab is open holds nothing yet; the link keeps its value.
    assert {key: value for key, value in wanted.items() if key in shown} == shown
    assert {key for key in wanted if key not in shown} <= {"timing.compile"}


@pytest.mark.slow
@pytest.mark.parametrize("address", sorted({claim.link.address for claim in CLAIMS}))
def test_no_link_stands_at_a_pages_own_start(address, asked):
    open_page(PAGES[address].path)
    start = asked[-1:]  # none where the page waits for a model of another kind
    for claim in CLAIMS:
        if claim.link.address == address and not claim.link.question:
            asked.clear()
            open_page(PAGES[address].path, **parameters(claim))
            assert asked[-1:] != start, claim.key
