"""The timeline in a browser: a statement can be clicked, a mark says what it is, text of a program stays text."""

from __future__ import annotations

import re

from playwright.sync_api import expect

PROGRAM = "root = ones(4, requires_grad=True)\nx = root * 1\nv = x[:2]\nv.mul_(10)\ny = x < 3\n"


def test_a_click_on_a_statement_selects_it_and_a_mark_speaks(visitor):
    visitor.open("in-place", **{"in_place.program": PROGRAM})
    page = visitor.page
    row = page.locator('.atlas-timeline .row[data-line="2"]')
    row.click()
    expect(page.get_by_text(re.compile("^Line 2:"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"statement=[0-9a-f]{8}\.2"))
    expect(page.locator('.atlas-timeline .row[data-line="5"] text').nth(1)).to_have_text("y = x < 3")
    page.locator('.atlas-timeline g[data-tip*="mul_"]').last.hover()
    expect(page.locator(".atlas-timeline-tip")).to_contain_text("version 0 → 1")
