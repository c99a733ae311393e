"""The tensor pages as a person uses them: a question opens, the picture is drawn, a control changes the numbers."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from pages.shared.navigation import discover_pages
from pages.shared.section_cards import presets_of
from tests.browser.pixels import DRAWN_SHARE, brightness, drawn_share, look
from tests.browser.visitor import DRAWN_TIMEOUT_MS, visiting

ENTRIES = {entry.url_path: entry for entry in discover_pages() if entry.section == "tensors"}
MAIN = '[data-testid="stMain"]'


def first_question(page: str) -> dict:
    link = presets_of(ENTRIES[page])[0].link_values()
    return {name: value for name, value in link.items() if isinstance(value, str) and value}


@pytest.mark.parametrize("page", ENTRIES)
def test_a_question_opens_in_both_themes_and_fits_a_small_window(visitor, dark_visitor, page):
    light, dark = (look(one.open(page, **first_question(page)).page) for one in (visitor, dark_visitor))
    assert brightness(light) > 0.6 > 0.4 > brightness(dark)
    assert drawn_share(light) > DRAWN_SHARE
    assert drawn_share(dark) > DRAWN_SHARE
    for one in (visitor, dark_visitor):
        wider = one.page.locator(MAIN).evaluate("main => main.scrollWidth - main.clientWidth")
        assert wider <= 1
        assert one.page.locator('[class*="st-key-fault"]').count() == 0


def cells(visitor) -> dict:
    root = visitor.page.locator("[data-atlas-cells]").first
    visitor.page.wait_for_function(
        "root => root.dataset.atlasCells && JSON.parse(root.dataset.atlasCells).panels.length",
        arg=root.element_handle(),
    )
    return json.loads(root.get_attribute("data-atlas-cells") or "{}")


def test_pointing_at_a_cell_lights_up_its_memory(visitor):
    visitor.open("storage-and-views", **{"storage.chain": ".transpose(0, 1)"})
    panels = [panel["key"] for panel in cells(visitor)["panels"]]
    assert len(panels) == 3
    root = visitor.page.locator("[data-atlas-cells]").first
    end = panels[1]
    box = root.evaluate("(root, panel) => root.atlasCellBox(panel, 1)", end)
    visitor.page.locator("[data-atlas-canvas]").first.hover(
        position={"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    )
    visitor.page.wait_for_function(
        "root => JSON.parse(root.dataset.atlasCells).hovered.length", arg=root.element_handle()
    )
    # t1[0, 1] is x[1, 0], the seventh element of the storage
    hovered = cells(visitor)["hovered"]
    assert hovered[0] == f"{end}:1"
    assert f"{panels[0]}:6" in hovered
    assert f"{panels[2]}:6" in hovered


def test_a_step_added_by_hand_changes_numbers_against_a(visitor):
    visitor.open("storage-and-views", **{"storage.chain": ".permute(1, 0)"})
    visitor.page.get_by_role("button", name="Pin as A").click()
    visitor.wait_for_answer()
    assert visitor.delta("Copied") == "= A"
    field = visitor.page.get_by_role("textbox", name="Chain of operations on x")
    field.fill(".permute(1, 0).contiguous()")
    field.press("Enter")
    visitor.wait_for_answer()
    assert visitor.number("Copied") == "96 B"
    assert visitor.delta("Copied") == "+96 B"


def test_the_reason_a_view_fails_stands_beside_what_pytorch_said(visitor):
    visitor.open("storage-and-views", **{"storage.chain": ".t()", "storage.view": "24"})
    visitor.page.get_by_role("tab", name="Will .view() work?").click()
    visitor.wait_for_answer()
    assert "view size is not compatible with input tensor's size and stride" in visitor.text
    assert "copying 96 B" in visitor.text


def test_a_link_rebuilds_a_chain_for_a_colleague(visitor, browser, server):
    visitor.open("storage-and-views")
    field = visitor.page.get_by_role("textbox", name="Chain of operations on x")
    field.fill("[:, ::2].unsqueeze(0)")
    field.press("Enter")
    visitor.wait_for_answer()
    with visiting(browser, server.address) as colleague:
        colleague.page.goto(visitor.page.url)
        colleague.wait()
        assert colleague.number("Elements") == visitor.number("Elements") == "12"
        assert colleague.page.get_by_role("textbox", name="Step 2").input_value() == ".unsqueeze(0)"


LEAVES_ITS_SECTION = [
    ("broadcasting", "Why is the backward of a loop slow?"),
    ("memory-formats", "Nobody asked for channels_last: why is it there?"),
]


@pytest.mark.parametrize(("page", "question"), LEAVES_ITS_SECTION)
def test_a_question_chosen_on_the_page_survives_a_reload(visitor, page, question):
    """Its widgets appear only with it, and have to stand in the link all the same."""
    visitor.open(page)
    visitor.page.get_by_role("combobox", name="Question").click()
    visitor.page.get_by_role("option", name=question).click()
    visitor.wait_for_answer()
    sidebar = visitor.page.locator('[data-testid="stSidebar"] input')
    chosen = sidebar.evaluate_all("fields => fields.map((field) => field.value)")
    assert chosen
    visitor.page.reload()
    expect(sidebar).to_have_count(len(chosen), timeout=DRAWN_TIMEOUT_MS)
    visitor.wait()
    assert sidebar.evaluate_all("fields => fields.map((field) => field.value)") == chosen
    assert "You have changed settings" not in visitor.text
