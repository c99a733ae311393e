"""The graph canvas by keyboard, for those who want less motion, in both themes, and with hostile names."""

from __future__ import annotations

import pytest

from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from tests.browser.pixels import brightness, look
from tests.browser.visitor import CHROMIUM
from tests.component.graph_scenes import blocks
from tests.component.test_graph_in_the_browser import NEAR, THEMES, count_near

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]


def test_keys_zoom_walk_open_search_and_let_go(shown):
    picture = shown("ten")
    zoom = float(picture.said["atlasZoom"])
    assert float(picture.press("+")["atlasZoom"]) > zoom
    assert float(picture.press("f")["atlasZoom"]) == pytest.approx(zoom, abs=0.002)
    first = picture.press("ArrowDown")["atlasSelected"]
    second = picture.press("ArrowDown")["atlasSelected"]
    wires = picture.page.evaluate(
        "() => view.scene.wires.map(({ source, target }) => [source, target].map((i) => view.scene.boxes[i].address))"
    )
    assert [first, second] in wires
    assert picture.press("Escape")["atlasSelected"] == ""
    assert ["selected", second] in picture.told
    picture.press("/")
    assert picture.page.evaluate("() => document.activeElement.matches('[data-atlas-search]')")


def test_enter_opens_the_selected_group(shown):
    picture = shown(build_scene(blocks(3), GraphView(expanded=())))
    picture.press("ArrowDown", "Enter")
    assert picture.told[-1] == ["toggled", picture.said["atlasSelected"]]


def test_a_question_mark_lists_the_keys_and_escape_closes(shown):
    picture = shown("ten")
    panel = picture.page.locator("[data-atlas-help]")
    assert not panel.is_visible()
    picture.press("?")
    assert panel.is_visible()
    assert "path to the root" in panel.inner_text()
    picture.page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert picture.page.evaluate("() => document.activeElement === view.canvas")


def test_the_focus_is_seen(shown):
    picture = shown("ten")
    before = look(picture.root)
    picture.page.keyboard.press("Tab")
    for _ in range(4):
        if picture.page.evaluate("() => document.activeElement === view.canvas"):
            break
        picture.page.keyboard.press("Tab")
    assert picture.page.evaluate("() => document.activeElement === view.canvas")
    assert count_near(look(picture.root), "#3d53c6") > count_near(before, "#3d53c6") + 500


def test_moves_are_instant_for_those_who_asked_for_less_motion(shown):
    picture = shown("300")
    flies = "() => { view.camera.zoomAt(2, 100, 100); view.fit(); return Boolean(view.camera.flight); }"
    assert picture.page.evaluate(flies)
    picture.page.emulate_media(reduced_motion="reduce")
    assert not picture.page.evaluate(flies)
    picture.page.emulate_media(reduced_motion="null")


@pytest.mark.parametrize("theme", THEMES)
def test_hostile_names_are_words_and_leave_their_neighbours_alone(shown, theme):
    picture = shown("hostile", theme)
    picture.page.evaluate(NEAR)
    picture.said  # noqa: B018
    made = picture.page.evaluate("() => document.querySelectorAll('img, [data-atlas-graph] script').length")
    assert made == 0
    drawn = picture.page.evaluate(
        """() => {
          const said = [];
          const pen = document.createElement("canvas").getContext("2d");
          pen.fillText = (text) => said.push(text);
          const all = inSightOfAll();
          view.painter.paint(pen, view.scene, { ...view.state(performance.now()), ...all, zoom: 1, scale: 1 });
          return said;
          function inSightOfAll() {
            return { within: (scene) => scene.boxes, near: (wires) => wires };
          }
        }"""
    )
    assert max(map(len, drawn)) <= 161
    assert not any(sign in text for text in drawn for sign in "\u202e\u202c\u2066\x00\x1b\n")
    assert drawn.count("Plain") == 11
    assert any("</script>" in text for text in drawn)


def test_hovering_says_a_hostile_name_as_text(shown):
    picture = shown("hostile")
    picture.page.evaluate(NEAR)
    place = next(place for address, place in picture.places.items() if "img" in address)
    picture.canvas.hover(position={"x": place["x"] + 20, "y": place["y"] + 10})
    tooltip = picture.page.locator("[data-atlas-tooltip]")
    assert "<img src=x onerror=alert(1)>" in tooltip.inner_text()
    assert tooltip.locator("img").count() == 0


def test_the_themes_differ(shown):
    light, dark = (look(shown("ten", theme).canvas) for theme in THEMES)
    assert brightness(light) > 0.8 > 0.3 > brightness(dark)
