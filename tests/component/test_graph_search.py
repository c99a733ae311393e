"""Search over the whole graph in the browser, counted here node by node over the graph's own rows."""

from __future__ import annotations

import re

import pytest

from engine.figures.fold import addresses, forward_order
from engine.figures.view import GraphView
from tests.component.graph_reader import CLOSED, encoded, reading, varied
from tests.figures.graphs import HOSTILE, chain, graph, node, tied_loop

pytestmark = [pytest.mark.slow, pytest.mark.browser]

GRAPH = varied()


def whole(number: str):
    """The text with its last number not going on: "layers.3" is not in "layers.30"."""
    return lambda text: re.search(re.escape(number) + r"(?!\d)", text) is not None


def kept(one) -> int:
    return sum({slot.storage_id: slot.storage_bytes for slot in one.saved if not slot.dropped}.values())


def owns(one, words: str) -> bool:
    named = [slot.owner for slot in one.saved if slot.owner_kind == "parameter"]
    return any(words in name for name in [one.variable, *named])


def shape(one):
    return one.inputs[0].shape


ANSWERS = {
    "op:addmm": lambda one: "Addmm" in one.name,
    "OP:ADDMM": lambda one: "Addmm" in one.name,
    "operation:AddmmBackward0": lambda one: one.name == "AddmmBackward0",
    "op:a*m": lambda one: re.search("a.*m", one.name.lower()),
    "module:layers.3": lambda one: whole("layers.3")(one.module),
    "module:layers.3.attn": lambda one: "layers.3.attn" in one.module,
    "module:layers.*.mlp": lambda one: ".mlp" in one.module,
    "tensor:weight": lambda one: owns(one, "weight"),
    "tensor:layers.33.attn.weight": lambda one: owns(one, "layers.33.attn.weight"),
    "tensor:loss": lambda one: one.id == 0,
    "shape:4x64": lambda one: shape(one) == (4, 64),
    "shape:4×64": lambda one: shape(one) == (4, 64),
    "shape:4,64": lambda one: shape(one) == (4, 64),
    "shape:(4, 64)": lambda one: shape(one) == (4, 64),
    "shape:[4,64]": lambda one: shape(one) == (4, 64),
    "shape:*x64": lambda one: len(shape(one)) == 2 and shape(one)[1] == 64,
    "shape:...x64": lambda one: shape(one)[-1:] == (64,),
    "shape:2x...": lambda one: shape(one)[:1] == (2,),
    "shape:2x...x7x...x64": lambda one: shape(one) == (2, 7, 64),
    "shape:64": lambda one: shape(one) == (64,),
    "shape:scalar": lambda one: shape(one) == (),
    "shape:()": lambda one: shape(one) == (),
    "dtype:bfloat16": lambda one: one.inputs[0].dtype == "bfloat16",
    "dtype:float16": lambda one: one.inputs[0].dtype == "float16",
    "dtype:torch.float": lambda one: one.inputs[0].dtype in ("float16", "float32"),
    "device:cuda": lambda one: one.inputs[0].device == "cuda:0",
    "kind:view": lambda one: one.name == "TBackward0",
    "kind:leaf": lambda one: one.kind == "leaf",
    "kind:parameter": lambda one: one.kind == "leaf",
    "source:model.py:12": lambda one: one.source is not None and one.source.line == 12,
    "saved>1MiB": lambda one: kept(one) > 2**20,
    "saved>=1000": lambda one: kept(one) >= 1000,
    "saved=1kB": lambda one: kept(one) == 1000,
    "saved<.5KiB": lambda one: kept(one) < 512,
    "op:addmm dtype:bfloat16 saved>1KiB": lambda one: (
        "Addmm" in one.name and one.inputs[0].dtype == "bfloat16" and kept(one) > 1024
    ),
    "op:addmm op:gelu": lambda one: False,
    "gelu": lambda one: "Gelu" in one.name,
    "layers.12": lambda one: whole("layers.12")(one.module) or owns(one, "layers.12."),
    '"cuda:0"': lambda one: one.inputs[0].device == "cuda:0",
    "": lambda one: False,
}


@pytest.fixture
def reader(canvas_page):
    return reading(canvas_page, encoded(GRAPH))


def test_every_question_finds_what_counting_finds(reader):
    found = {words: sorted(reader.ask(words)) for words in ANSWERS}
    assert found == {words: [one.id for one in GRAPH.nodes if counts(one)] for words, counts in ANSWERS.items()}
    assert sum(map(bool, found.values())) == len(ANSWERS) - 2


def test_hits_come_in_forward_order(reader):
    order = forward_order(GRAPH)
    hits = reader.ask("op:addmm")
    assert hits == sorted(hits, key=lambda one: order[one])


def test_the_list_tells_how_many_and_where_and_lights_their_groups(reader):
    said = reader.type("op:addmm")
    assert said["atlasHitCount"] == "34"
    assert reader.list_words == "34 nodes found, 34 in closed groups"
    assert len(reader.rows) == 34
    assert reader.rows[0].split("\n")[0] == "AddmmBackward0"
    boxes = reader.page.evaluate("() => [...view.found.values()].map((box) => [box.role, box.hits])")
    assert sum(hits for _, hits in boxes) == 34
    assert {role for role, _ in boxes} == {"group"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("colour:red", "There is no “colour:”. Known: op, module, tensor, shape, dtype, device, kind, source, saved."),
        ("shape:big", "A shape is sizes like 4×64"),
        ("saved>large", "A size is a number with B, kB, KiB"),
        ("op>3", "Only saved compares by size"),
        ("op:nosuchthing", "Nothing found in the whole graph."),
    ],
)
def test_what_is_not_understood_is_explained(reader, words, said):
    assert reader.type(words)["atlasHitCount"] == "0"
    assert said in reader.list_words


def test_any_question_is_text(reader):
    endless = ["*" * 500 + "b", "op:" + "a*" * 200, "shape:" + "...x" * 200 + "1"]
    for words in [*HOSTILE, *endless, "((((", "\\", "op:("]:
        reader.ask(words)
        reader.page.evaluate("() => view.search.show()")
    assert reader.page.locator(".atlas-hits img, .atlas-hits script").count() == 0


def test_hostile_names_are_found_and_listed_as_text(canvas_page):
    nodes = [node(i, name, name, sequence=9 - i) for i, name in enumerate(HOSTILE)]
    reader = reading(canvas_page, encoded(graph(nodes, [(i, 0, i + 1) for i in range(8)]), GraphView()))
    for number, name in enumerate(HOSTILE):
        piece = max(re.split(r'["\n\r\t]', name), key=len)[:300].strip()
        assert number in reader.ask(f'"{piece}"'), piece
    reader.ask("*")
    reader.page.evaluate("() => view.search.show()")
    assert canvas_page.locator(".atlas-hits img, .atlas-hits script").count() == 0
    assert len(reader.rows) == len(HOSTILE)


def test_enter_walks_through_the_hits_and_back(reader):
    reader.type("op:gelu")
    shown = reader.page.locator(".atlas-found")
    for key, place in (("Enter", 1), ("Enter", 2), ("Shift+Enter", 1), ("Shift+Enter", 34), ("Enter", 1)):
        reader.page.keyboard.press(key)
        assert shown.inner_text() == f"{place} of 34"
    active = reader.page.locator("[data-atlas-search]").get_attribute("aria-activedescendant")
    assert reader.page.locator(f"#{active}").get_attribute("aria-selected") == "true"


def test_arrows_and_enter_choose_a_hit_and_ask_for_its_groups(reader):
    reader.type("op:gelu module:layers.7")
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("Enter")
    assert reader.told == [["revealed", "layers.7.mlp/GeluBackward0#0"]]


def test_a_hit_that_was_opened_is_selected_and_in_the_middle(reader):
    reader.type("op:gelu module:layers.7")
    reader.page.locator("[role=option]").first.click()
    opened = encoded(GRAPH, GraphView(expanded=("layers.7",), maximum_boxes=60))
    reader.page.evaluate("(bytes) => window.show(new Uint8Array(bytes))", list(opened))
    assert reader.said["atlasSelected"] == "layers.7.mlp/GeluBackward0#0"
    assert reader.told[-1] == ["selected", "layers.7.mlp/GeluBackward0#0"]
    place = reader.places["layers.7.mlp/GeluBackward0#0"]
    assert 0 < place["x"] < 930 - place["width"]
    assert 0 < place["y"] < 560 - place["height"]


def test_a_node_in_sight_is_selected_at_once(canvas_page):
    made = chain(6)
    reader = reading(canvas_page, encoded(made, GraphView()))
    reader.type("op:mul")
    reader.page.locator("[role=option]").nth(1).click()
    assert reader.told == [["selected", addresses(made, forward_order(made))[reader.ask("op:mul")[1]]]]


def test_a_lit_box_can_be_seen_beside_the_list(reader):
    reader.page.evaluate("() => { view.camera.zoomAt(3, 0, 0); view.camera.pan(4000, 4000); }")
    reader.type("op:gelu")
    (place,) = reader.places.values()
    edge = reader.page.locator(".atlas-hits").bounding_box()["x"]
    assert 0 < place["x"] + place["width"] / 2 < edge


def test_a_leaf_used_often_lights_every_box_that_uses_it(canvas_page):
    reader = reading(canvas_page, encoded(tied_loop(5), GraphView()))
    assert reader.ask("tensor:step.weight") == [11]
    assert reader.page.evaluate("() => view.found.size") == 5


def test_escape_clears_and_an_empty_field_offers_help(reader):
    reader.type("op:gelu")
    reader.page.keyboard.press("Escape")
    assert reader.said["atlasFound"] == "0"
    assert not reader.page.locator(".atlas-hits").is_visible()
    reader.page.locator("[data-atlas-search]").focus()
    assert len(reader.rows) == 9
    reader.page.locator("[role=option]").nth(3).click()
    assert reader.page.locator("[data-atlas-search]").input_value() == "shape:"


def test_20_000_nodes_are_all_searched(canvas_page):
    made = chain(20_000, "long")
    reader = reading(canvas_page, encoded(made, CLOSED))
    assert len(reader.ask("op:mul")) == 10_000
    reader.page.evaluate("() => view.search.show()")
    assert "the first 100 listed" in reader.page.locator("[data-atlas-hits-said]").text_content()
