"""The interactive picture: select, open and close, search, zoom, save, by mouse and by keyboard."""

from __future__ import annotations

import io

from PIL import Image

from pages.shared.model_controls import TITLES
from tests.browser.pixels import colours, look
from tests.browser.visitor import FIND_GRAPH

PAGE = "autograd-graph"
BOXES_DIFFER = f"(before) => Number(({FIND_GRAPH})?.dataset.atlasBoxes ?? before) !== before"


def test_a_clicked_node_shows_its_details(visitor):
    visitor.open(PAGE, model=TITLES["expression"])
    place = visitor.box("node", "Mul")
    visitor.click_box(place)
    assert visitor.graph["atlasSelected"] == place.address
    details = visitor.page.locator('[data-testid="stMain"]').get_by_text("next_functions")
    details.first.wait_for()
    assert "MulBackward0" in visitor.text
    assert "sequence_nr" in visitor.text


def test_a_module_closes_and_opens(visitor):
    visitor.open(PAGE, model=TITLES["gpt"])
    boxes = int(visitor.graph["atlasBoxes"])
    frame = visitor.box("frame", "mlp")
    visitor.click_box(frame, double=True)
    visitor.page.wait_for_function(BOXES_DIFFER, arg=boxes)
    closed = int(visitor.graph["atlasBoxes"])
    assert closed < boxes
    assert next(place.role for place in visitor.places if place.address == frame.address) == "group"
    assert visitor.graph["atlasSelected"] == frame.address
    visitor.picture.focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_function(BOXES_DIFFER, arg=closed)
    assert int(visitor.graph["atlasBoxes"]) == boxes


def test_the_picture_is_named_searched_zoomed_and_saved(visitor):
    visitor.open(PAGE)
    zoom = float(visitor.graph["atlasZoom"])
    name = visitor.picture.get_attribute("aria-label")
    assert "nodes" in name
    assert visitor.picture.get_attribute("role") == "img"
    check_search(visitor)
    visitor.page.locator('[data-atlas-action="in"]').click()
    assert float(visitor.graph["atlasZoom"]) > zoom
    visitor.page.locator('[data-atlas-action="fit"]').click()
    assert float(visitor.graph["atlasZoom"]) == zoom
    fitted = look(visitor.picture)
    visitor.picture.hover(position={"x": 300, "y": 300})
    visitor.page.mouse.wheel(0, -300)
    assert float(visitor.graph["atlasZoom"]) > zoom
    assert look(visitor.picture).tobytes() != fitted.tobytes()
    check_saving(visitor)


def check_search(visitor):
    box = visitor.page.locator("[data-atlas-search]")
    for words, found in (("Addmm", "> 0"), ("<img src=x onerror=alert(1)>", "=== 0")):
        box.fill(words)
        visitor.page.wait_for_function(f"() => Number(({FIND_GRAPH}).dataset.atlasFound) {found}")
    visitor.page.keyboard.press("Escape")


def check_saving(visitor):
    for choice in ("png", "whole"):
        visitor.page.locator("[data-atlas-menu] summary").click()
        with visitor.page.expect_download() as started:
            visitor.page.locator(f'[data-atlas-action="{choice}"]').click()
        saved = Image.open(io.BytesIO(started.value.path().read_bytes())).convert("RGB")
        assert min(saved.size) > 200
        assert colours(saved) > 8


def test_the_keyboard_walks_along_edges(visitor):
    visitor.open(PAGE)
    visitor.picture.focus()
    seen = []
    for _ in range(3):
        visitor.page.keyboard.press("ArrowDown")
        visitor.wait()
        seen.append(visitor.graph["atlasSelected"])
    assert len(set(seen)) == 3
    visitor.page.keyboard.press("Escape")
    visitor.wait()
    assert visitor.graph["atlasSelected"] == ""


SLOW_TEXT = """
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (...given) {
  for (const end = performance.now() + 0.25; performance.now() < end; );
  return draw.apply(this, given);
};
"""


def test_a_picture_that_takes_long_to_draw_still_arrives(visitor):
    visitor.page.add_init_script(SLOW_TEXT)
    visitor.open(PAGE, model=TITLES["gpt"])
    assert any(place.address == "blocks" for place in visitor.places)
    visitor.choose("model", TITLES["resnet"])
    visitor.page.wait_for_function(
        f"""() => JSON.parse(({FIND_GRAPH})?.dataset.atlasPlaces ?? "[]").some((place) => place.address === "layer1")"""
    )
