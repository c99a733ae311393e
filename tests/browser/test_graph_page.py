"""The autograd graph page as a person uses it: toggle, pin, compare, follow a link, look from two windows at once."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree

from playwright.sync_api import expect

from pages.shared.model_controls import TITLES
from tests.browser.pixels import DRAWN_SHARE, brightness, drawn_share, look
from tests.browser.visitor import visiting

PAGE = "autograd-graph"


def count(text: str) -> int:
    return int(text.replace(",", "").replace(" ", "").replace("\u202f", ""))


def test_light_and_dark_draw_on_their_own_ground(visitor, dark_visitor):
    light, dark = (look(one.open(PAGE).drawn_picture) for one in (visitor, dark_visitor))
    assert brightness(light) > 0.6
    assert brightness(dark) < 0.4
    assert drawn_share(dark) > DRAWN_SHARE


def test_checkpointing_drops_slots_and_keeps_the_nodes(visitor):
    visitor.open(PAGE, model=TITLES["gpt"])
    nodes, kept = visitor.number("Nodes"), visitor.number("Saved bytes")
    assert count(visitor.number("Dropped slots")) == 0
    visitor.choose("checkpoint", "each_block")
    assert count(visitor.number("Dropped slots")) > 0
    assert visitor.number("Nodes") == nodes
    assert visitor.number("Saved bytes") != kept


def test_pinned_run_shows_differences(visitor):
    visitor.open(PAGE)
    nodes = count(visitor.number("Nodes"))
    visitor.press("pin")
    assert visitor.delta("Nodes") == "= A"
    visitor.toggle("mlp.residual")
    change = count(visitor.number("Nodes")) - nodes
    assert change < 0
    assert visitor.delta("Nodes").startswith(f"\u2212{-change}")
    for mark in ("added", "removed", "changed"):
        expect(visitor.page.locator("[data-atlas-legend]")).to_contain_text(f"{mark} since A")
    visitor.press("unpin")
    expect(visitor.metric("Nodes").locator('[data-testid="stMetricDelta"]')).to_have_count(0)


def test_a_link_rebuilds_the_view(visitor, browser, server):
    visitor.open(PAGE, model=TITLES["gpt"]).unfold("topic.Precision and layout").choose("autocast", "bfloat16")
    visitor.press("pin").choose("checkpoint", "each_block")
    labels = ("Nodes", "Saved bytes", "Dropped slots", "Loss")
    shown = [(visitor.number(label), visitor.delta(label)) for label in labels]
    with visiting(browser, server.address) as other:
        other.page.goto(visitor.page.url)
        other.wait()
        assert [(other.number(label), other.delta(label)) for label in labels] == shown


def test_a_link_with_nonsense_shows_the_page_all_the_same(visitor):
    visitor.open(PAGE, model="<script>", pinned="!!!", batch="1e99", view="none", checkpoint="")
    assert count(visitor.number("Nodes")) > 5


def test_two_windows_do_not_disturb_each_other(visitor, browser, server):
    with visiting(browser, server.address) as other:
        visitor.open(PAGE, model=TITLES["recurrent"], **{"recurrent.steps": 50})
        other.open(PAGE, model=TITLES["embedding"])
        mine, theirs = visitor.number("Nodes"), other.number("Nodes")
        assert mine != theirs
        other.toggle("embedding.sparse")
        visitor.toggle("input_requires_grad")
        visitor.toggle("input_requires_grad")
        assert (visitor.number("Nodes"), other.number("Nodes")) == (mine, theirs)


def test_classic_view_draws_what_torchviz_draws(visitor):
    visitor.open(PAGE, view="Classic torchviz")
    drawing = visitor.page.locator('[data-testid="stGraphVizChart"] svg')
    drawing.wait_for()
    assert drawing.locator("g.node").count() > 5


def test_contradicting_settings_are_explained(visitor):
    visitor.open(PAGE, model=TITLES["gpt"], **{"gpt.width": 130, "gpt.heads": 4})
    assert "multiple of heads" in visitor.text
    assert "Try width=" in visitor.text


def test_every_export_is_a_valid_file(visitor):
    visitor.open(PAGE)
    visitor.page.get_by_role("button", name="Export").click()
    buttons = visitor.page.locator('[data-testid="stDownloadButton"] button')
    buttons.first.wait_for()
    assert buttons.count() >= 3
    kinds = set()
    for number in range(buttons.count()):
        with visitor.page.expect_download() as started:
            buttons.nth(number).click()
        name = started.value.suggested_filename
        check_file(name, started.value.path().read_bytes())
        kinds.add(name.rpartition(".")[2])
    assert {"json", "csv", "svg", "html"} <= kinds


def check_file(name: str, data: bytes) -> None:
    text = data.decode("utf-8")
    kind = name.rpartition(".")[2]
    assert text.strip(), name
    if kind == "json":
        assert json.loads(text)
    elif kind == "svg":
        assert ElementTree.fromstring(text).tag.endswith("svg")
    elif kind == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) > 5
        assert len({len(row) for row in rows}) == 1
    elif kind == "html":
        assert "<html" in text.lower()
        assert re.search(r"""(src|href)\s*=\s*["']https?:""", text) is None
    elif kind == "py":
        compile(text, name, "exec")
    else:
        assert kind in {"dot", "gv"}, name
        assert text.lstrip().startswith("digraph")
