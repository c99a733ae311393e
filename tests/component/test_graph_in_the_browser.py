"""The graph canvas in a real Chromium: sizes, marks, words along wires, legend, PNG, minimap, keys, hostile names."""

from __future__ import annotations

import io

import msgspec
import pytest
from PIL import Image

from engine.figures.palette import BACKGROUND, channels, meaning
from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from tests.browser.pixels import colours, drawn_share, look
from tests.browser.visitor import CHROMIUM, NEXT_FRAMES
from tests.component.graph_scenes import SCENES, blocks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]
THEMES = ("light", "dark")
SAVED_MARGIN, LARGEST_AREA = 24, 64e6
"""Of a PNG of everything: pixels around it at full size, and how many it has at most."""
NEAR = "() => view.camera.flyTo({ zoom: 1, x: (view.scene.width - view.width) / 2, y: -60 }, true)"


def saved_png(picture, *keys):
    """The PNG that these keys save."""
    with picture.page.expect_download() as started:
        picture.press(*keys)
    return Image.open(io.BytesIO(started.value.path().read_bytes())).convert("RGB")


def count_near(image, colour, within=24):
    """How many pixels are about this "#rrggbb"."""
    red, green, blue = channels(colour)
    found = image.getcolors(image.width * image.height) or []
    return sum(n for n, (r, g, b) in found if max(abs(r - red), abs(g - green), abs(b - blue)) <= within)


def borders(image, width):
    """The four strips along the edges."""
    right, bottom = image.size
    places = [(0, 0, right, width), (0, bottom - width, right, bottom), (0, 0, width, bottom)]
    return [image.crop(place) for place in (*places, (right - width, 0, right, bottom))]


@pytest.mark.parametrize(
    ("scene", "theme"), [("ten", "light"), ("ten", "dark"), ("300", "light"), ("300", "dark"), ("2000", "light")]
)
def test_every_size_is_drawn_and_nothing_is_cut(shown, scene, theme):
    """In the file with everything, a margin of the ground runs around all of it."""
    picture = shown(scene, theme)
    assert picture.said["atlasTheme"] == theme
    whole = saved_png(picture, "Shift+S")
    assert drawn_share(whole) > 0.01
    assert colours(whole) > 8
    ground = channels(BACKGROUND[theme])
    fine = whole.width / (max(SCENES[scene]().width, 300) + 2 * SAVED_MARGIN)
    for strip in borders(whole, int(0.6 * SAVED_MARGIN * fine)):
        assert strip.getcolors() == [(strip.width * strip.height, ground)]
    if scene == "2000":
        assert whole.width * whole.height <= LARGEST_AREA
        assert "reduced to" in picture.said["atlasSaid"]


@pytest.mark.parametrize("scene", ["300", "2000"])
def test_all_of_it_fits_in_sight(shown, scene):
    picture = shown(scene)
    picture.press("f")
    for place in picture.places.values():
        assert min(place["x"], place["y"]) >= 0
        assert place["x"] + place["width"] <= 1280
        assert place["y"] + place["height"] <= 640
    assert drawn_share(look(picture.canvas)) > 0.05


@pytest.mark.parametrize("theme", THEMES)
def test_marks_have_their_colours_from_near_and_from_afar(shown, theme):
    picture = shown("marked", theme)
    for zoom, least in ((1.0, 60), (0.15, 4)):
        picture.page.evaluate("(zoom) => view.camera.flyTo({ zoom, x: -200, y: -60 }, true)", zoom)
        picture.said  # noqa: B018 waits until it rests
        image = look(picture.canvas)
        for mark in ("added", "removed", "changed"):
            assert count_near(image, meaning(mark).accent(theme)) >= least, (mark, zoom)


def test_what_is_gone_is_dashed_and_faint(shown):
    """A ghost's outline has gaps: along its top edge both its colour and the ground show."""
    picture = shown("marked")
    picture.page.evaluate(NEAR)
    scene = SCENES["marked"]()
    ghost = next(box for box in scene.boxes if box.mark == "removed")
    place = picture.places[ghost.address]
    image = look(picture.canvas)
    across = range(place["x"] + 12, place["x"] + place["width"] - 20)
    top = [[image.getpixel((x, place["y"] + dy)) for dy in (-1, 0, 1)] for x in across]
    red = [any(channels(meaning("removed").light)[0] + 90 > r and r - g > 60 for r, g, _ in pixels) for pixels in top]
    assert 0.25 < sum(red) / len(red) < 0.9


def test_words_along_wires_show_near_and_go_away_far(shown):
    picture = shown("ten")
    said = "() => view.scene.wires.filter((wire) => wire.said?.length).length"
    picture.page.evaluate("() => view.camera.flyTo({ zoom: 0.4, x: -200, y: 0 }, true)")
    picture.said  # noqa: B018
    assert picture.page.evaluate(said) == 0
    picture.page.evaluate(NEAR)
    picture.said  # noqa: B018
    assert picture.page.evaluate(said) > 5
    overlaps = picture.page.evaluate(
        """() => {
          const words = view.scene.wires.flatMap((wire) => wire.said ?? []);
          const boxes = view.scene.boxes.filter((box) => box.role !== "frame");
          const right = (one) => one.x + one.width, bottom = (one) => one.y + one.height;
          const apart = (a, b) => a.x >= right(b) || b.x >= right(a) || a.y >= bottom(b) || b.y >= bottom(a);
          const others = (i) => [...boxes, ...words.slice(i + 1)];
          return words.flatMap((word, i) => others(i).filter((other) => !apart(word, other))).length;
        }"""
    )
    assert overlaps == 0


def test_a_path_lights_its_wires_and_fades_the_rest(shown):
    picture = shown("ten")
    before = look(picture.canvas)
    picture.page.evaluate(
        """() => {
          const [wire] = view.scene.wires;
          const ends = [wire.source, wire.target].map((index) => view.scene.boxes[index].address);
          view.highlight = { boxes: new Set(ends), wires: new Set([wire]), label: "one wire" };
          view.repaint();
        }"""
    )
    picture.said  # noqa: B018
    after = look(picture.canvas)
    assert count_near(after, "#3d53c6") > count_near(before, "#3d53c6") + 20
    assert count_near(after, meaning("operation").light) < count_near(before, meaning("operation").light)


@pytest.mark.parametrize("theme", THEMES)
def test_a_scale_stands_in_the_legend_with_its_steps(shown, theme):
    made = blocks(1)
    norms = {"blocks.0.mlp.weight": float("inf")}
    by_bytes = shown(build_scene(made, GraphView(colour_by="saved bytes")), theme)
    steps = by_bytes.page.locator(".atlas-scale span").all_inner_texts()
    assert len(steps) == 5
    assert steps[-1].strip() == "4.00 KiB"  # the largest slot of twelve nodes, 4 << 10 bytes
    by_norm = shown(build_scene(made, GraphView(colour_by="gradient norm"), gradients=norms), theme)
    legend = by_norm.page.locator("[data-atlas-legend]").inner_text()
    assert "non-finite" in legend
    assert "no leaf of its own" in legend
    by_norm.press("f")
    assert count_near(look(by_norm.canvas), meaning("non_finite").accent(theme)) > 30


def test_the_view_is_saved_as_it_is_seen_twice_as_fine_with_its_legend(shown):
    picture = shown("ten")
    picture.page.evaluate("() => view.tree.toggle()")
    picture.page.evaluate(NEXT_FRAMES)  # until the room that the tree took or gave is measured
    width, height = picture.page.evaluate("() => [view.width, view.height]")
    image = saved_png(picture, "s")
    assert image.size == (2 * width, 2 * height)
    corner = image.crop((0, image.height - 140, image.width // 4, image.height))
    assert drawn_share(corner) > 0.01
    assert picture.said["atlasSaid"] == f"Saved {2 * width} × {2 * height} pixels."


def test_a_menu_saves_what_is_in_sight_or_everything_and_closes(shown):
    picture = shown("300")
    menu, whole = picture.page.locator("[data-atlas-menu]"), picture.action("whole")
    assert not whole.is_visible()
    for choice, name in (("png", "autograd-graph.png"), ("whole", "autograd-graph-whole.png")):
        menu.locator("summary").click()
        with picture.page.expect_download() as started:
            picture.action(choice).click()
        assert started.value.suggested_filename == name
        assert not whole.is_visible()
    menu.locator("summary").click()
    picture.page.keyboard.press("Escape")
    assert not whole.is_visible()
    menu.locator("summary").click()
    picture.canvas.click(position={"x": 5, "y": 600})
    assert not whole.is_visible()


def test_from_afar_all_titles_have_one_size(shown):
    picture = shown("300")
    fonts = """(zoom) => {
      const pen = document.createElement("canvas").getContext("2d");
      const found = new Set();
      const draw = pen.fillText;
      pen.fillText = function (...given) { found.add(pen.font); return draw.apply(pen, given); };
      const state = { zoom, faded: () => false, appearing: () => 1, most: view.scene.most };
      const solid = view.scene.boxes.filter((box) => box.role !== "frame");
      solid.forEach((box) => view.painter.titleAlone(pen, view.scene, box, "#000", state));
      return [...found];
    }"""
    sizes = []
    for zoom in (0.28, 0.4, 0.55):
        (font,) = picture.page.evaluate(fonts, zoom)
        sizes.append(float(font.split("px")[0].split()[-1]) * zoom)
    assert 6.3 < sizes[0] <= sizes[1] <= sizes[2] < 11.6


def test_words_along_wires_are_placed_over_several_frames_without_stopping_the_picture(shown):
    """Where finding room takes long, a frame only has its share of it; in the end every word is there."""
    picture = shown("300")
    frames = picture.page.evaluate(
        """async () => {
          const late = (wires) => wires.filter((wire) => wire.said === undefined).length;
          const free = view.scene.grid.wires.find;
          view.scene.grid.wires.find = function (...given) {
            for (const end = performance.now() + 1; performance.now() < end; );
            return free.apply(this, given);
          };
          view.scene.wires.forEach((wire) => delete wire.said); // the first look has placed what it shows
          view.scene.words = undefined;
          view.still = null;
          view.camera.flyTo({ zoom: 0.7, x: 0, y: 0 }, true);
          const counts = [];
          do {
            await new Promise(requestAnimationFrame);
            counts.push(late(view.state(performance.now()).near(view.scene.wires)));
          } while (counts.at(-1) && counts.length < 5000);
          return counts;
        }"""
    )
    assert len({count for count in frames if count}) > 3
    assert frames[-1] == 0


def test_the_minimap_takes_one_there_and_shows_what_differs(shown):
    scene = SCENES["2000"]()
    marked = [
        msgspec.structs.replace(box, mark="changed") if box.role != "frame" and i % 40 == 0 else box
        for i, box in enumerate(scene.boxes)
    ]
    picture = shown(msgspec.structs.replace(scene, boxes=tuple(marked)))
    minimap = picture.page.locator("[data-atlas-minimap]")
    assert count_near(look(minimap), meaning("changed").light) > 100
    before = set(picture.places)
    size = minimap.bounding_box()
    minimap.click(position={"x": size["width"] - 6, "y": size["height"] / 2})
    after = set(picture.places)
    assert not before & {address for address in after if scene_role(scene, address) == "node"}
    picture.page.mouse.down()
    picture.page.mouse.move(size["x"] + size["width"] / 2, size["y"] + 10)
    picture.page.mouse.up()
    assert set(picture.places) != after


def scene_role(scene, address):
    return next(box.role for box in scene.boxes if box.address == address)


def test_the_minimap_shows_the_selected_box(shown):
    picture = shown("300")
    picture.press("+")
    minimap = picture.page.locator("[data-atlas-minimap]")
    before = count_near(look(minimap), "#3d53c6")
    picture.page.evaluate("() => { view.selected = view.scene.boxes.at(-1).address; view.repaint(); }")
    picture.said  # noqa: B018
    assert count_near(look(minimap), "#3d53c6") > before
