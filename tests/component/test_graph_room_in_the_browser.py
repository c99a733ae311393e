"""Room for the picture: full screen, narrow windows, tall pictures, and what lies under legend and minimap."""

from __future__ import annotations

import pytest

from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from tests.browser.visitor import CHROMIUM, NEXT_FRAMES
from tests.component.graph_scenes import blocks
from tests.figures.graphs import graph, leaf, node

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]
NARROW = {"width": 552, "height": 560}


def sides(picture, selector):
    """(left, top, right, bottom) on the page; None where it is not drawn."""
    found = picture.page.locator(selector).bounding_box()
    return found and (found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"])


def apart(one, other):
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_a_larger_room_is_filled_until_the_reader_has_moved(shown):
    picture = shown("ten")
    before = float(picture.said["atlasZoom"])
    resize = "(height) => { document.querySelector('#room').style.height = `${height}px`; }"
    picture.page.evaluate(resize, 560)
    small = float(picture.said["atlasZoom"])
    assert small < before
    picture.page.evaluate(resize, 640)
    assert float(picture.said["atlasZoom"]) == pytest.approx(before)
    picture.press("+")
    moved = float(picture.said["atlasZoom"])
    picture.page.evaluate(resize, 320)
    assert float(picture.said["atlasZoom"]) == moved


def test_in_a_narrow_window_nothing_is_cut_and_the_list_folds_legend_and_minimap_away(shown):
    three = graph(
        [node(i, "MulBackward0", sequence=9 - i) for i in range(3)] + [leaf(3 + i, f"w{i}") for i in range(3)],
        [(0, 0, 1), (1, 0, 2), *((i, 1, 3 + i) for i in range(3))],
    )
    norms = {"w0": 1e-3, "w1": 1.0, "w2": 1e5}
    picture = shown(build_scene(three, GraphView(colour_by="gradient norm"), gradients=norms))
    picture.page.set_viewport_size(NARROW)
    picture.page.evaluate(NEXT_FRAMES)
    status, tools, legend = (sides(picture, f".atlas-{name}") for name in ("status", "tools", "legend"))
    assert picture.page.evaluate(
        "() => { const box = view.chrome.statusBox; return box.scrollWidth <= box.clientWidth; }"
    )
    assert apart(status, tools)
    steps = [sides(picture, f".atlas-scale span:nth-of-type({number})") for number in range(1, 6)]
    assert all(legend[0] <= step[0] and step[2] <= legend[2] and step[3] <= legend[3] for step in steps)
    picture.page.locator("[data-atlas-search]").fill("op:mul")
    assert sides(picture, ".atlas-hits")
    assert sides(picture, ".atlas-legend") is None
    assert sides(picture, ".atlas-minimap") is None
    picture.page.locator("[data-atlas-search]").press("Escape")
    assert sides(picture, ".atlas-legend")


@pytest.mark.parametrize("backward", [False, True])
def test_a_large_picture_starts_with_its_first_box(shown, backward):
    direction = "backward" if backward else "forward"
    picture = shown(build_scene(blocks(80), GraphView(maximum_boxes=5000, ceiling_boxes=5000, direction=direction)))
    solid = [place for place in picture.places.values() if place["role"] != "frame"]
    ends = picture.page.evaluate("() => view.firstBox().address")
    seen = picture.places[ends]
    assert 0 <= seen["x"] <= seen["x"] + seen["width"] <= 1280
    assert 48 <= seen["y"] <= seen["y"] + seen["height"] <= 640
    assert min(place["y"] for place in solid) < 320


def test_what_is_looked_at_is_not_under_legend_or_minimap(shown):
    picture = shown("300")
    addresses = picture.page.evaluate(
        "() => view.scene.boxes.filter((box) => box.role === 'node').map((box) => box.address)"
    )
    look = "(address) => view.lookAt(view.scene.byAddress.get(address), true)"
    for address in addresses[::23]:
        picture.page.evaluate(look, address)
        place = picture.places[address]
        box = (place["x"], place["y"], place["x"] + place["width"], place["y"] + place["height"])
        for selector in (".atlas-legend", ".atlas-minimap", ".atlas-tools", ".atlas-status"):
            assert apart(box, sides(picture, selector)), (address, selector)
