"""A click on a mark of the chart shows that leaf's value and gradient."""

from __future__ import annotations

import re

from playwright.sync_api import expect


def test_a_click_on_a_mark_shows_its_leaf(visitor):
    page = visitor.open("gradient-values").page
    marks = page.locator(".js-plotly-plot").first.locator(".scatterlayer .trace").nth(1).locator("path.point")
    expect(marks).to_have_count(8)
    marks.nth(6).click(force=True)
    expect(page).to_have_url(re.compile("gradients.leaf=head.weight"))
    title = page.locator(".js-plotly-plot .gtitle").filter(has_text="head.weight .grad")
    expect(title.first).to_be_attached()
