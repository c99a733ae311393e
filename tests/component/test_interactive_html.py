"""The interactive HTML file in a real browser: opened from disk, without a network, under its own policy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine.figures.embedded_pictures import Limits
from engine.figures.interactive_html import interactive_html
from engine.figures.scene import prepare
from engine.figures.view import GraphView
from engine.graph.spec import Leaf
from pages.shared.canvas_files import canvas_files, write_html
from tests.browser.pixels import brightness, colours, drawn_share, look
from tests.browser.visitor import CHROMIUM
from tests.component.file_reader import reading
from tests.figures.graphs import HOSTILE, graph, leaf, linear_relu, node, saved

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]

MORE = (
    "\u2028\u2029",
    "</SCRIPT ><svg onload=alert(1)>",
    "${alert(1)}`",
    "__proto__",
    "constructor",
    "<!-- canvas -->",
)


@pytest.fixture(scope="module")
def browser(chromium):
    return chromium


def blocks(count: int, size: int = 6):
    """`count` modules after another, each with two inner ones of `size` operations and a parameter."""
    nodes = [node(0, "SumBackward0", sequence=10_000, shape=())]
    edges, last = [], 0
    for number in range(count):
        for inner in ("norm", "mlp"):
            path = f"blocks.{number}.{inner}"
            for step in range(size):
                at = len(nodes)
                name = f"Op{step}Backward0"
                slots = [saved(at, 2048)] if step == 0 else []
                nodes.append(node(at, name, path, sequence=10_000 - at, slots=slots))
                edges.append((last, 0, at))
                last = at
        nodes.append(leaf(len(nodes), f"blocks.{number}.mlp.weight", f"blocks.{number}.mlp"))
        edges.append((last, 1, len(nodes) - 1))
    return graph(nodes, edges)


def written(folder: Path, made, view: GraphView | None = None, **options) -> Path:
    view = view or GraphView(maximum_boxes=12)
    text = interactive_html(prepare(made, view), view, canvas_files(), **{"title": "A title", **options})
    path = folder / "graph.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def blocks_file(tmp_path_factory):
    leaves = [
        Leaf(f"blocks.{i}.mlp.weight", "parameter", (8, 8), "float32", True, True, 1, 0.5, "float32", "strided", "", "")
        for i in range(4)
    ]
    return written(tmp_path_factory.mktemp("file"), blocks(4), leaves=leaves, spec='{"a": 1}', script="import torch")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_draws_in_both_themes_and_widths(browser, blocks_file, dark, width):
    with reading(browser, blocks_file, dark=dark, width=width) as reader:
        assert reader.said["atlasTheme"] == ("dark" if dark else "light")
        picture = look(reader.canvas)
        assert drawn_share(picture) > 0.02
        assert colours(picture) > 20
        assert (brightness(look(reader.page)) < 0.5) == dark
        edge = reader.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert edge[0] <= edge[1]
        tools = reader.page.locator(".atlas-tools").bounding_box()
        around = reader.root.bounding_box()
        assert around["x"] <= tools["x"]
        assert tools["x"] + tools["width"] <= around["x"] + around["width"]


def test_the_theme_can_be_chosen_and_groups_open_onto_their_inside_and_back(browser, blocks_file):
    with reading(browser, blocks_file) as reader:
        reader.page.get_by_role("button", name="Dark theme").click()
        assert reader.said["atlasTheme"] == "dark"
        assert brightness(look(reader.canvas)) < 0.5
        reader.page.get_by_role("button", name="Light theme").click()
        assert brightness(look(reader.canvas)) > 0.5

        reader.expect_trail("Whole picture")
        reader.click(reader.box("group", "blocks.1.mlp"), double=True)
        reader.expect_trail("Whole picture", "blocks.1.mlp")
        shown = {re.sub("#.*", "", one.address) for one in reader.places if one.role == "node"}
        assert shown == {f"blocks.1.mlp/Op{step}Backward0" for step in range(6)}
        reader.trail.get_by_role("button", name="Whole picture").click()
        reader.expect_trail("Whole picture")
        assert reader.said["atlasSelected"] == "blocks.1.mlp"
        assert reader.box("group", "blocks.1.norm")


def test_frames_show_their_inside_too(browser, tmp_path):
    path = written(tmp_path, blocks(2, 3), GraphView(maximum_boxes=200))
    with reading(browser, path) as reader:
        frame = reader.box("frame", "blocks.0.norm")
        reader.click(frame, double=True)
        reader.expect_trail("Whole picture", frame.address)
        assert len([one for one in reader.places if one.role == "node"]) == 3
        reader.page.keyboard.press("Backspace")
        reader.expect_trail("Whole picture")


def test_a_node_tells_what_it_saved_and_leads_on_also_into_another_picture(browser, blocks_file):
    with reading(browser, blocks_file) as reader:
        expect(reader.facts).to_contain_text("Whole graph")
        reader.click(reader.box("group", "blocks.2.mlp"), double=True)
        expect(reader.trail).to_contain_text("blocks.2.mlp")
        reader.click(reader.box("node", "mlp/Op0"))
        for words in (
            "Op0Backward0",
            "module blocks.2.mlp",
            "2.00 KiB (2\u202f048 B)",
            "kept",
            "#0: 4×8 float32 on cpu",
        ):
            expect(reader.facts).to_contain_text(words)
        reader.facts.get_by_role("button", name=re.compile("Op1Backward0")).click()
        expect(reader.facts.locator("h2").first).to_have_text("Op1Backward0")
        assert reader.said["atlasSelected"] == "blocks.2.mlp/Op1Backward0#0"
        reader.click(reader.box("node", "mlp/Op5"))
        expect(reader.facts).to_contain_text("gradient norm 0.500")
        expect(reader.facts).to_contain_text("accumulates into blocks.2.mlp.weight.grad")

        reader.facts.get_by_role("button", name=re.compile("Op0Backward0")).click()
        expect(reader.trail).to_contain_text("blocks.3")
        assert reader.said["atlasSelected"] == "blocks.3.norm/Op0Backward0#0"


def test_search_finds_what_is_drawn_nowhere_yet(browser, blocks_file):
    with reading(browser, blocks_file) as reader:
        reader.canvas.click(position={"x": 5, "y": 400})
        reader.page.keyboard.press("/")
        reader.page.keyboard.type("module:blocks.3.mlp op:Op4")
        expect(reader.page.locator(".atlas-hits")).to_contain_text("1 node found")
        reader.page.keyboard.press("ArrowDown")
        reader.page.keyboard.press("Enter")
        reader.expect_trail("Whole picture", "blocks.3.mlp")
        assert reader.said["atlasSelected"] == "blocks.3.mlp/Op4Backward0#0"
        expect(reader.facts.locator("h2").first).to_have_text("Op4Backward0")


def test_pan_zoom_keys_tooltip_legend_and_png(browser, blocks_file):
    with reading(browser, blocks_file) as reader:
        before = float(reader.said["atlasZoom"])
        reader.page.locator('[data-atlas-action="in"]').click()
        assert float(reader.said["atlasZoom"]) > before
        reader.canvas.focus()
        reader.page.keyboard.press("f")
        assert float(reader.said["atlasZoom"]) == pytest.approx(before, rel=0.05)
        x, y = reader.box("group", "blocks.0").handle
        reader.canvas.hover(position={"x": x, "y": y})
        expect(reader.page.locator("[data-atlas-tooltip]")).to_contain_text("blocks.0")
        expect(reader.page.locator("[data-atlas-legend]")).to_contain_text("module")
        reader.click(reader.box("group", "blocks.0.norm"))
        reader.page.keyboard.press("ArrowDown")
        assert reader.said["atlasSelected"] not in ("", "blocks.0.norm")
        reader.page.locator("[data-atlas-menu] summary").click()
        with reader.page.expect_download() as saving:
            reader.page.locator('[data-atlas-action="png"]').click()
        assert Path(saving.value.path()).read_bytes().startswith(b"\x89PNG")


def test_what_does_not_fit_is_said(browser, tmp_path):
    path = written(tmp_path, blocks(4), limits=Limits(boxes=40))
    with reading(browser, path) as reader:
        expect(reader.facts).to_contain_text("a file holds at most 40 boxes")
        closed = [one for one in reader.places if one.role == "group"]
        reader.click(closed[-1], double=True)
        expect(reader.page.locator("[data-page-said]")).to_contain_text(
            "Not in this file: a file holds at most 40 boxes"
        )
        reader.expect_trail("Whole picture")


def hostile(names):
    """A chain whose nodes, modules, leaves, owners and outputs are called `names`, more than one picture shows."""
    count = 4 * len(names)
    called = [names[i % len(names)] for i in range(count)]
    nodes = [
        node(i, f"{name}{i}", f"{name}.{i % 3}", sequence=count - i, slots=[saved(i, 8, owner=name)])
        for i, name in enumerate(called)
    ]
    leaves = [leaf(count + i, name, name) for i, name in enumerate(names)]
    edges = [(i, 0, i + 1) for i in range(count - 1)] + [(count - 1, i, count + i) for i in range(len(names))]
    return graph([*nodes, *leaves], edges, roots=[(name, 0) for name in names])


@pytest.mark.parametrize("names", [HOSTILE, MORE, ("y" * 100_000,)], ids=["hostile", "more", "long"])
def test_no_name_gets_out_of_the_data(browser, tmp_path, names):
    words = "".join(names)
    path = written(tmp_path, hostile(names), title=words, spec=words, script=words, numbers=((words, words),))
    with reading(browser, path) as reader:
        held = json.loads(reader.page.locator("#atlas-data").evaluate("element => element.textContent"))
        assert (held["spec"], held["script"]) == (words, words)
        assert reader.page.evaluate("document.scripts.length") == 2
        assert reader.page.locator("img, iframe, svg[onload]").count() == 0
        for role in ("group", "node", "group"):
            for place in [one for one in reader.places if one.role == role][:1]:
                reader.click(place)
                assert reader.said["atlasSelected"]
                expect(reader.facts.locator("h2").first).not_to_be_empty()
                reader.click(place, double=True)


def test_only_the_script_that_was_written_runs(browser, tmp_path):
    """Were a name to get out of the data, the policy would still stop it."""
    path = written(tmp_path, linear_relu())
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</body>", "<script>document.title = 'taken over'</script></body>"), encoding="utf-8")
    with reading(browser, path) as reader:
        assert reader.page.title() == "A title"
        assert reader.places
        assert len(reader.problems) == 1
        assert "Content Security Policy" in reader.problems.pop()


def test_a_notebook_writes_one_file(browser, tmp_path):
    path = write_html(linear_relu(), tmp_path / "graph.html", title="From a notebook")
    with reading(browser, path) as reader:
        assert reader.page.title() == "From a notebook"
        assert reader.box("node", "AddmmBackward0")
