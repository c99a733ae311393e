"""The module tree beside the picture, and the node of a link: both ways, by pointer and by keyboard."""

from __future__ import annotations

import json

import pytest

from engine.figures.fold import addresses, forward_order
from engine.figures.view import GraphView
from engine.graph.spec import ModuleCall
from tests.component.graph_reader import CLOSED, encoded, reading, varied
from tests.figures.graphs import HOSTILE, chain, graph, node, tied_loop

pytestmark = [pytest.mark.slow, pytest.mark.browser]

LAYERS = 6
MODULES = [
    ModuleCall("", "Net", 0, 1),
    ModuleCall("layers", "ModuleList", 0, 0),
    *(
        ModuleCall(f"layers.{layer}{part}", kind, 0, 1)
        for layer in range(LAYERS)
        for part, kind in (("", "Block"), (".attn", "Attention"), (".mlp", "Mlp"), (".drop", "Dropout"))
    ),
    ModuleCall("spare", "Linear", 0, 0),
]
OPEN = GraphView(maximum_boxes=5000, ceiling_boxes=5000)


def tree(page, view=OPEN, **more):
    reader = reading(page, encoded(varied(LAYERS), view, modules=MODULES, **more))
    if not page.locator(".atlas-tree").is_visible():
        reader.press("m")
    return reader


def row(page, path: str):
    return page.locator(f'[role=treeitem][title^="{path}:"]')


def test_it_is_closed_where_there_is_little_room_and_opens_by_button_and_key(canvas_page):
    reader = reading(canvas_page, encoded(varied(LAYERS), OPEN, modules=MODULES))
    panel = canvas_page.locator(".atlas-tree")
    assert not panel.is_visible()
    reader.press("m")
    assert panel.is_visible()
    assert reader.action("tree").get_attribute("aria-pressed") == "true"
    reader.action("tree").click()
    assert not panel.is_visible()
    canvas_page.set_viewport_size({"width": 1400, "height": 640})
    wide = reading(canvas_page, encoded(varied(LAYERS), OPEN, modules=MODULES))
    assert panel.is_visible()
    left = wide.canvas.bounding_box()["x"]
    assert left >= panel.bounding_box()["x"] + panel.bounding_box()["width"] - 1


def test_rows_say_class_nodes_and_why_there_are_none(canvas_page):
    tree(canvas_page)
    assert row(canvas_page, "layers.2").inner_text().split("\n") == ["2", "Block", "4"]
    assert "no autograd node" in row(canvas_page, "layers.2.drop").inner_text()
    assert "never ran" in row(canvas_page, "spare").inner_text()
    assert "atlas-module-muted" in row(canvas_page, "spare").get_attribute("class")
    title = row(canvas_page, "layers.2").get_attribute("title")
    assert "4 autograd nodes, saves" in title


@pytest.mark.parametrize("view", [OPEN, GraphView(expanded=("layers",), maximum_boxes=20)])
def test_a_clicked_module_lights_the_boxes_that_hold_it(canvas_page, view):
    made = varied(LAYERS)
    reader = tree(canvas_page, view)
    row(canvas_page, "layers.2.attn").click()
    names = addresses(made, forward_order(made))
    inside = [names[one.id] for one in made.nodes if one.module == "layers.2.attn" and one.kind != "leaf"]
    index = "(address) => view.index.boxOf(view.index.nodeOf(address)).address"
    wanted = {canvas_page.evaluate(index, address) for address in inside}
    assert set(reader.lit()[1]) == wanted
    assert reader.said["atlasPathWords"].startswith("layers.2.attn: 3 nodes in ")
    row(canvas_page, "layers.2.attn").click()
    assert reader.said["atlasPathWords"] == ""


def test_a_module_out_of_sight_is_flown_to(canvas_page):
    reader = tree(canvas_page)
    canvas_page.evaluate("() => { view.camera.zoomAt(3, 0, 0); view.camera.pan(4000, 4000); }")
    assert not any("layers.4.mlp" in address for address in reader.places)
    row(canvas_page, "layers.4.mlp").click()
    assert any("layers.4.mlp" in address for address in reader.places)


def test_a_module_without_nodes_says_why(canvas_page):
    reader = tree(canvas_page)
    row(canvas_page, "spare").click()
    assert reader.said["atlasPathWords"] == "spare never ran."
    row(canvas_page, "layers.1.drop").click()
    assert reader.said["atlasPathWords"] == "layers.1.drop no autograd node."


def test_a_double_click_asks_to_open_the_group(canvas_page):
    reader = tree(canvas_page, CLOSED)
    row(canvas_page, "layers.3").dblclick()
    assert reader.told[-1] == ["toggled", "layers.3"]


def test_a_box_marks_its_row_and_brings_it_into_sight(canvas_page):
    reader = tree(canvas_page, GraphView(expanded=("layers",), maximum_boxes=20))
    reader.click_box("layers.5")
    lit = canvas_page.locator(".atlas-module-lit")
    assert lit.count() == 1
    assert lit.get_attribute("title").startswith("layers.5:")
    panel, item = canvas_page.locator(".atlas-tree-rows").bounding_box(), lit.bounding_box()
    assert panel["y"] <= item["y"] <= panel["y"] + panel["height"] - item["height"] + 1
    place = reader.places["layers.0"]
    reader.canvas.hover(position={"x": place["x"] + 20, "y": place["y"] + 12})
    assert reader.said
    assert lit.get_attribute("title").startswith("layers.0:")


def test_the_keyboard_walks_folds_and_lights(canvas_page):
    reader = tree(canvas_page)
    row(canvas_page, "the whole model").focus()
    keys = canvas_page.keyboard
    for key in ("ArrowDown", "ArrowDown"):
        keys.press(key)
    focused = canvas_page.locator("[role=treeitem]:focus")
    assert focused.get_attribute("title").startswith("layers.0:")
    keys.press("ArrowLeft")
    assert focused.get_attribute("aria-expanded") == "false"
    assert row(canvas_page, "layers.0.attn").count() == 0
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    assert focused.get_attribute("title").startswith("layers.0.attn:")
    keys.press("Enter")
    assert reader.said["atlasPathWords"].startswith("layers.0.attn")
    keys.press("ArrowLeft")
    keys.press(" ")
    assert reader.told[-1] == ["toggled", "layers.0"]
    keys.press("End")
    assert focused.get_attribute("title").startswith("spare:")
    keys.press("Home")
    assert focused.get_attribute("title").startswith("the whole model")


def test_many_modules_in_one_list_and_hostile_names(canvas_page):
    names = [name.replace(".", "")[:300] for name in HOSTILE]
    modules = [ModuleCall("", "Net", 0), *(ModuleCall(f"m{i}", "Linear", 0) for i in range(900))]
    modules += [ModuleCall(name, name, 0) for name in names]
    made = graph([node(i, "MulBackward0", name, sequence=99 - i) for i, name in enumerate(names)], [(0, 0, 1)])
    reader = reading(canvas_page, encoded(made, OPEN, modules=modules))
    reader.press("m")
    assert canvas_page.locator("[role=treeitem]").count() == 202
    canvas_page.get_by_text("709 more: click to list").click()
    assert canvas_page.locator("[role=treeitem]").count() == 910
    assert canvas_page.locator(".atlas-tree img, .atlas-tree script").count() == 0


def test_a_graph_without_a_model_has_no_tree(canvas_page):
    reader = reading(canvas_page, encoded(chain(5), OPEN))
    assert reader.action("tree").is_disabled()
    reader.press("m")
    assert not canvas_page.locator(".atlas-tree").is_visible()


@pytest.mark.parametrize("address", ["layers.2.mlp/GeluBackward0#0", "layers.2.attn.weight/AccumulateGrad#0"])
def test_the_node_of_a_link_is_selected_and_in_the_middle(canvas_page, address):
    reader = tree(canvas_page, selected=address)
    said = reader.said
    assert said["atlasSelected"] == address
    assert not [name for name, _ in reader.told if name == "selected"]
    box = canvas_page.evaluate("() => view.selectedBox().address")
    place = next(one for one in json.loads(said["atlasPlaces"]) if one["address"] == box)
    assert abs(place["x"] + place["width"] / 2 - canvas_page.evaluate("() => view.width") / 2) < 3
    assert abs(place["y"] + place["height"] / 2 - canvas_page.evaluate("() => view.height") / 2) < 3


def test_a_link_into_a_closed_group_rings_the_group_and_opening_it_shows_the_node(canvas_page):
    address = "layers.2.mlp/GeluBackward0#0"
    reader = tree(canvas_page, GraphView(expanded=("layers",), maximum_boxes=20), selected=address)
    assert canvas_page.evaluate("() => view.selectedBox().address") == "layers.2"
    opened = encoded(varied(LAYERS), OPEN, selected=address, modules=MODULES)
    canvas_page.evaluate("(bytes) => window.show(new Uint8Array(bytes))", list(opened))
    assert reader.said["atlasSelected"] == address
    assert canvas_page.evaluate("() => view.selectedBox().address") == address


def test_a_selection_of_the_reader_is_not_taken_back_by_the_link(canvas_page):
    address = "layers.2.mlp/GeluBackward0#0"
    reader = tree(canvas_page, selected=address)
    reader.press("Escape")
    assert reader.told[-1] == ["selected", None]
    same = encoded(varied(LAYERS), GraphView(expanded=("layers",)), selected=address, modules=MODULES)
    canvas_page.evaluate("(bytes) => window.show(new Uint8Array(bytes))", list(same))
    assert reader.said["atlasSelected"] == ""


def test_an_address_that_is_not_there_selects_nothing(canvas_page):
    reader = reading(canvas_page, encoded(tied_loop(3), OPEN, selected="no/such#0"))
    assert reader.said["atlasSelected"] == ""
