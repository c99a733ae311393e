"""The checkpointing page in a browser: a click on a mark and the list beside it both choose the policy."""

from __future__ import annotations

import re

from playwright.sync_api import expect

MARKS = ".st-key-policies-chart .scatterlayer .trace .points path"


def test_a_mark_and_the_list_both_choose_the_policy(visitor):
    visitor.open("checkpointing", **{"policies.rounds": 5, "policies.up": "FLOPs again"})
    page = visitor.page

    def label(text):
        return page.locator(f'.st-key-policies-chart .annotation-text[data-unformatted="{text}"]')

    expect(label("each block")).to_have_count(1)
    marks = page.locator(MARKS)
    marks.nth(marks.count() - 3).click(force=True)  # the last six are the policies of the default, in their order
    expect(label("<b>each block</b>")).to_have_count(1)
    expect(page).to_have_url(re.compile("policies.shown=each"))
    visitor.wait_for_answer().choose("policies.shown", "off")
    expect(page.get_by_text(re.compile("^off: .*kept for backward"))).to_be_visible()
    expect(label("<b>off</b>")).to_have_count(1)
    expect(label("each block")).to_have_count(1)
