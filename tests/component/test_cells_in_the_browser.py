"""The cells component in a real Chromium: what lights up, click, keyboard, theme, touch, hostile words."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.browser.pixels import DRAWN_SHARE, brightness, colours, drawn_share, look
from tests.browser.visitor import CHROMIUM, Visitor, visiting
from tests.component.cells_scenes import HOSTILE, SCENES
from tests.component.cells_visitor import FIND_CELLS, Cells, cells_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with cells_server(tmp_path_factory.mktemp("cells") / "log.txt") as running:
        yield running
        assert "Traceback" not in running.printed(), running.printed()[-4000:]


@pytest.fixture(scope="module")
def browser(chromium):
    return chromium


@pytest.fixture
def visitor(browser, server):
    with visiting(browser, server.address) as guest:
        yield guest


@pytest.mark.parametrize("scene", ["number", "large"])
def test_every_size_draws(visitor, scene):
    cells = Cells(visitor, scene)
    assert drawn_share(look(cells.canvas)) > DRAWN_SHARE / 4
    assert {panel["key"] for panel in cells.said["panels"]} == {panel.key for panel in SCENES[scene]().panels}


def test_a_panel_without_cells_is_explained(visitor):
    cells = Cells(visitor, "empty")
    assert cells.said["panels"][0]["height"] > 40
    assert "z (0 cells)" in cells.canvas.get_attribute("aria-label")


def test_pointing_lights_the_same_memory_in_every_panel(visitor):
    cells = Cells(visitor, "transposed")
    said = cells.hover("t", 13)
    # t is x transposed, 6x4: t[3, 1] is x[1, 3], element 9.
    assert said["hovered"] == ["t:13", "x:9", "storage:9"]
    assert said["lit"] == 3
    assert cells.tooltip == "t[3, 1] · element 9"
    assert "same as 2 cells" in cells.status
    before = look(cells.canvas)
    cells.page.mouse.move(2, 2)
    assert cells.said["lit"] == 0
    assert cells.tooltip == ""
    assert brightness(look(cells.canvas)) < brightness(before)


def test_pointing_at_a_result_lights_what_it_reads_and_at_an_operand_who_reads_it(visitor):
    cells = Cells(visitor, "product")
    assert set(cells.hover("c", 6)["hovered"]) == {"c:6", "a:3", "a:4", "a:5", "b:2", "b:6", "b:10"}
    assert "reads 6 cells" in cells.status
    assert set(cells.hover("a", 1)["hovered"]) == {"a:1", "c:0", "c:1", "c:2", "c:3"}
    assert "read by 4 cells" in cells.status


def test_a_click_keeps_the_cell_and_tells_python_and_escape_lets_go(visitor):
    cells = Cells(visitor, "transposed")
    said = cells.click("x", 5)
    assert said["pinned"] == {"panel": "x", "index": 5}
    cells.wait_for_python("x", 5)
    assert cells.hover("x", 20)["hovered"][0] == "x:5"
    cells.canvas.focus()
    assert cells.press("Escape")["pinned"] is None
    cells.wait_for_python(None, None)
    cells.click("storage", 3)
    cells.wait_for_python("storage", 3)
    assert cells.click("storage", 3)["pinned"] is None
    cells.wait_for_python(None, None)


def test_the_keyboard_reaches_every_cell_and_leaves_again(visitor):
    cells = Cells(visitor, "transposed")
    cells.canvas.focus()
    assert cells.press("ArrowRight")["hovered"][0] == "x:0"
    assert cells.press("ArrowRight", "ArrowDown")["hovered"][0] == "x:7"
    assert cells.press("ArrowLeft", "ArrowLeft", "ArrowUp")["hovered"][0] == "x:5"
    assert cells.tooltip == "x[0, 5] · element 5"
    assert cells.press("Tab")["hovered"][0] == "t:0"
    assert cells.press("ArrowDown")["hovered"][0] == "t:4"
    assert cells.press("Tab", "End")["hovered"][0] == "storage:23"
    assert cells.press("Shift+Tab")["hovered"][0] == "t:0"
    cells.press("Enter")
    cells.wait_for_python("t", 0)
    cells.canvas.focus()
    cells.press("Tab", "Tab")
    assert cells.page.evaluate("document.activeElement.shadowRoot?.activeElement ?? null") is None


def test_blocks_stand_side_by_side_and_every_cell_is_found_at_its_place(visitor):
    cells = Cells(visitor, "blocks")
    first, beside, under = cells.box("x", 0), cells.box("x", 20), cells.box("x", 5)
    assert beside["y"] == first["y"]
    assert beside["x"] > first["x"] + 5 * first["width"]
    assert (under["x"], under["y"]) == (first["x"], first["y"] + first["height"])
    for index in (0, 4, 19, 20, 57, 119):
        assert cells.hover("x", index)["hovered"][0] == f"x:{index}"


def test_a_strip_is_cut_into_lines_of_whole_cache_lines(visitor):
    cells = Cells(visitor, "blocks")
    boxes = cells.root.evaluate("root => [...Array(120).keys()].map((n) => root.atlasCellBox('storage', n))")
    starts = [index for index, box in enumerate(boxes) if box["x"] == boxes[0]["x"]]
    assert len(starts) > 1
    assert {start % 16 for start in starts} <= {0, 8}
    canvas = cells.canvas.bounding_box()
    assert all(box["x"] + box["width"] <= canvas["width"] for box in boxes)


def test_few_cells_are_large_and_ten_thousand_fit_the_width(visitor):
    assert Cells(visitor, "transposed").box("x", 0)["height"] >= 36
    cells = Cells(visitor, "large")
    assert cells.box("x", 0)["height"] >= 3
    content, room = cells.said["content"], cells.said["room"]
    assert content[0] <= room[0] + 1


def test_what_does_not_fit_can_be_scrolled_to(visitor):
    cells = Cells(visitor, "many_panels", height=240)
    said = cells.said
    assert said["content"][1] > said["room"][1]
    assert max(panel["y"] for panel in said["panels"]) > said["room"][1]
    cells.page.locator("[data-atlas-scroller]").evaluate("box => box.scrollTo(0, 1e6)")
    last = cells.said["panels"][-1]
    assert last["y"] + last["height"] <= said["room"][1]
    assert cells.hover("p13", 2)["hovered"][0] == "p13:2"
    cells.canvas.focus()
    cells.press("Shift+Tab", *["Shift+Tab"] * 12)
    assert cells.said["hovered"][0] == "p0:0"
    assert 0 <= cells.box("p0", 0)["y"] < said["room"][1]


def test_zoom_makes_cells_larger_and_fit_brings_them_back(visitor):
    cells = Cells(visitor, "large")
    before = cells.box("x", 0)["height"]
    cells.action("in").click()
    cells.action("in").click()
    assert cells.said["zoom"] > 1.5
    assert cells.box("x", 0)["height"] > before * 1.5
    cells.canvas.focus()
    cells.press("f")
    assert cells.box("x", 0)["height"] == before


def test_memory_order_is_drawn_on_request_and_grows_where_motion_is_welcome(visitor):
    cells = Cells(visitor, "transposed")
    cells.page.mouse.move(2, 2)
    before = look(cells.canvas).tobytes()
    cells.action("path").focus()
    assert cells.press("Enter")["path"] is True
    assert cells.action("path").get_attribute("aria-pressed") == "true"
    cells.page.wait_for_timeout(1500)
    assert cells.said["path"] is True  # a frame after the last of the animation
    grown = look(cells.canvas).tobytes()
    assert grown != before
    assert cells.press("Enter")["path"] is False
    assert look(cells.canvas).tobytes() == before
    cells.page.emulate_media(reduced_motion="reduce")
    cells.press("Enter")
    assert look(cells.canvas).tobytes() == grown


def test_nothing_to_order_has_no_button(visitor):
    assert not Cells(visitor, "product").action("path").is_visible()


def test_the_theme_is_followed_without_a_reload(visitor):
    cells = Cells(visitor, "transposed")
    light = look(cells.canvas)
    assert cells.said["theme"] == "light"
    visitor.page.emulate_media(color_scheme="dark")
    visitor.page.wait_for_function(f"() => JSON.parse(({FIND_CELLS}).dataset.atlasCells).theme === 'dark'")
    assert brightness(look(cells.canvas)) < 0.4 < 0.6 < brightness(light)


def test_a_finger_taps_to_pin(browser, server):
    context = browser.new_context(viewport={"width": 800, "height": 900}, has_touch=True)
    try:
        guest = Visitor(context.new_page(), server.address)
        cells = Cells(guest, "transposed")
        cells.canvas.tap(position=cells.middle("x", 2))
        assert cells.said["pinned"] == {"panel": "x", "index": 2}
        cells.wait_for_python("x", 2)
        assert guest.problems == []
    finally:
        context.close()


def test_a_narrow_window_still_shows_every_panel(visitor):
    cells = Cells(visitor, "transposed")
    visitor.page.set_viewport_size({"width": 420, "height": 800})
    visitor.page.wait_for_function(f"() => JSON.parse(({FIND_CELLS}).dataset.atlasCells).room[0] < 420")
    content, room = cells.said["content"], cells.said["room"]
    assert room[0] < 420
    assert content[0] <= room[0] + 1


def test_hostile_words_are_drawn_as_words(visitor):
    cells = Cells(visitor, "hostile")
    cells.click(HOSTILE, 0)
    assert HOSTILE in cells.tooltip
    assert HOSTILE in visitor.page.locator("[data-atlas-legend]").inner_text()
    assert visitor.page.evaluate("window.hurt ?? null") is None
    assert cells.root.locator("img, script").count() == 0
    assert colours(look(cells.canvas)) > 4


def test_the_picture_can_be_saved(visitor):
    cells = Cells(visitor, "transposed")
    with visitor.page.expect_download() as download:
        cells.action("png").click()
    picture = Image.open(io.BytesIO(download.value.path().read_bytes()))
    assert download.value.suggested_filename == "cells.png"
    assert picture.width >= cells.said["room"][0]
    assert colours(picture.convert("RGB")) > 20
