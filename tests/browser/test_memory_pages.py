"""Ledger and timeline in a browser: a click on a block says what keeps it, a click on the run looks at that moment."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect


def test_a_click_on_a_block_says_what_keeps_it_alive(visitor):
    visitor.open("memory-ledger")
    page = visitor.page
    chosen = page.locator(".st-key-memory-chosen")
    expect(chosen).to_contain_text("saved for backward")
    block = page.locator('.atlas-memory .block[data-tip*="layers.0.linear.weight"]').first
    block.hover()
    expect(page.locator(".atlas-memory-tip")).to_contain_text("8.00 KiB (8")
    block.click()
    expect(chosen).to_contain_text("layers.0.linear.weight")
    expect(chosen).to_contain_text("no toggle frees a parameter")
    expect(page).to_have_url(re.compile(r"block=[0-9a-f]{8}\.\d+"))
    with page.expect_download() as saving:
        page.locator(".atlas-memory-png").click()
    assert saving.value.suggested_filename == "memory-ledger.png"
    assert Path(saving.value.path()).read_bytes().startswith(b"\x89PNG")
    visitor.control("memory_ledger.moment").get_by_role("radio", name="end of step").click()
    expect(page.locator(".atlas-memory text", has_text=re.compile("^optimizer state$")).first).to_be_visible()


def test_a_click_on_the_run_looks_at_that_moment(dark_visitor):
    dark_visitor.open("memory-timeline")
    page = dark_visitor.page
    strip = page.locator(".atlas-memory g[data-event]").nth(160)
    event = strip.get_attribute("data-event")
    strip.hover()
    expect(page.locator(".atlas-memory-tip")).to_contain_text(f"event {event}, optimizer step, step 1")
    strip.click()
    expect(page.get_by_text(re.compile(f"^event {event}: event {event}"))).to_be_visible()
    dark_visitor.control("memory_timeline.picture").get_by_role("radio", name="Blocks").click()
    expect(page.locator('.atlas-memory .block[data-tip*="exp_avg"]').first).to_be_visible()
    dark_visitor.wait_for_answer()
