"""The profiler page in a browser: a click on a bar explains its row, in the link too."""

from __future__ import annotations

import re

from playwright.sync_api import expect

BARS = ".st-key-profiler-memory .barlayer .trace:first-child .point path"


def test_a_bar_chooses_the_row_that_is_explained(visitor):
    visitor.open("profiler", **{"profiler.program": "pytorch#70028"})
    page = visitor.page
    explained = page.locator(".st-key-profiler-explained")
    expect(explained).to_contain_text(re.compile(r"MmBackward0 ran once.*freed 524.288 B in 2 blocks"))
    page.locator(BARS).first.click(force=True)
    expect(explained).to_contain_text("aten::mm ran 3 times")
    expect(page).to_have_url(re.compile("profiler.row=aten"))
