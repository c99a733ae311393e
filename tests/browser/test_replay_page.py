"""The replay page as a person uses it: step, read the numbers, follow an edge, pass the link on."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.visitor import visiting

PAGE = "replay"


def button(visitor, name):
    return visitor.page.locator(f'[data-atlas-replay-action="{name}"]')


def details(visitor):
    return visitor.page.locator(".st-key-replay-details")


def test_stepping_shows_the_numbers_and_the_link_keeps_the_step(visitor, browser, server):
    visitor.open(PAGE, model="Tensor expression", **{"expression.name": "where_sqrt"})
    expect(visitor.page.locator("[data-atlas-replay] [role=status]")).to_contain_text("step 4 of 4")
    visitor.picture.focus()
    visitor.page.keyboard.press(",")
    expect(details(visitor)).to_contain_text("Step 3 of 4")
    expect(details(visitor)).to_contain_text("SqrtBackward0")
    expect(details(visitor).locator(".js-plotly-plot").first).to_be_visible()
    assert visitor.number("Not finite") == "1"
    expect(visitor.page).to_have_url(re.compile("step=2"))
    with visiting(browser, server.address) as other:
        other.page.goto(visitor.page.url)
        other.wait()
        expect(other.page.locator("[data-atlas-replay] [role=status]")).to_contain_text("step 3 of 4")
        expect(details(other)).to_contain_text("Step 3 of 4")


def test_a_question_sets_the_call_and_play_reaches_what_pytorch_said(visitor):
    visitor.open(PAGE)
    visitor.choose("question", "What does a second backward() say?")
    expect(visitor.page.get_by_text("backward through the graph a second time").first).to_be_visible()
    words = visitor.page.locator("[data-atlas-replay] [role=status]")
    expect(words).to_contain_text("pass 2 of 2")
    expect(words).to_contain_text("raised an error")
    button(visitor, "first").click()
    expect(words).to_contain_text("to come")
    visitor.page.locator("[data-atlas-replay] select").select_option("250")
    button(visitor, "play").click()
    expect(words).to_contain_text("raised an error")
    expect(details(visitor)).to_contain_text("raised")
