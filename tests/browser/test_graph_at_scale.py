"""The graph page with graphs of hundreds to 100,000 nodes: drawn, opened, linked to, stopped, and told truthfully."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from engine.models.spec import AnyArchitecture, Chain, Gpt, Mlp, ModelSpec, Recurrent, ResNet, TiedLoop
from pages.shared.model_controls import link_values
from tests.browser.pixels import DRAWN_SHARE, colours, drawn_share, look
from tests.browser.visitor import DRAWN_TIMEOUT_MS, visiting

PAGE = "autograd-graph"
EIGHT: dict[str, AnyArchitecture] = {
    "MLP": Mlp(),
    "tied loop": TiedLoop(steps=400),
    "GPT-2 small": Gpt(layers=12, heads=12, width=768, sequence=64, vocabulary=50257),
    "48 layers": Gpt(layers=48),
    "ResNet-50": ResNet(variant="resnet50"),
    "LSTM by hand": Recurrent(cell="hand_written_lstm", steps=200),
    "chain of 20,000": Chain(operations=20_000),
    "chain of 100,000": Chain(operations=100_000),
}
LONG = "chain of 20,000"
FEWEST = 8
"""Boxes that make a picture of any of these."""
SPACES = re.compile(r"[\s,\u202f]")


def link(architecture: AnyArchitecture, **more: str) -> dict[str, str]:
    return {**link_values(ModelSpec(architecture=architecture)), **more}  # type: ignore[dict-item]


def shown_of(visitor) -> tuple[int, int]:
    """(n, N) of the words "n of N nodes shown"."""
    status = visitor.page.locator("[data-atlas-status]")
    expect(status).to_contain_text("nodes shown", timeout=DRAWN_TIMEOUT_MS)
    said = status.inner_text()
    found = re.match(r"([\d\s,]+) of ([\d\s,]+) nodes", said)
    assert found, said
    return int(SPACES.sub("", found[1])), int(SPACES.sub("", found[2]))


@pytest.mark.parametrize("name", [name for name in EIGHT if name != LONG])
def test_the_picture_is_neither_empty_nor_cut(visitor, name):
    visitor.open(PAGE, **link(EIGHT[name]))
    check_picture(visitor, EIGHT[name])


def check_picture(visitor, architecture):
    said = visitor.graph
    picture = look(visitor.picture)
    assert drawn_share(picture) > DRAWN_SHARE
    assert colours(picture) > FEWEST
    assert int(said["atlasBoxes"]) >= FEWEST
    shown, total = shown_of(visitor)
    assert 0 < shown <= total == int(SPACES.sub("", visitor.number("Nodes")))
    if isinstance(architecture, Chain):  # sum, the functions, addmm, its transpose and two leaves
        assert total == architecture.operations + 5
    if len(visitor.places) == int(said["atlasBoxes"]):  # all in sight: then none may be cut off
        assert all(place.x >= 0 and place.x + place.width <= picture.width for place in visitor.places)
        assert all(place.y >= 0 and place.y + place.height <= picture.height for place in visitor.places)


def test_fully_open_every_node_is_shown(visitor):
    visitor.open(PAGE, **link(TiedLoop(steps=100), detail="up to 2,000"))
    shown, total = shown_of(visitor)
    assert shown == total == 3 * 100 + 3  # addmm, tanh and a transpose per step; sum and two leaves


def test_a_long_chain_is_drawn_and_its_groups_open_and_close(visitor):
    visitor.open(PAGE, **link(EIGHT[LONG]))
    check_picture(visitor, EIGHT[LONG])
    before, closed = shown_of(visitor), int(visitor.graph["atlasBoxes"])
    group = visitor.box("group")
    visitor.click_box(group, double=True)
    assert int(visitor.graph["atlasBoxes"]) > closed
    assert shown_of(visitor)[1] == before[1]
    visitor.click_box(next(place for place in visitor.places if place.address == group.address), double=True)
    assert int(visitor.graph["atlasBoxes"]) == closed


@pytest.mark.parametrize("address", ["/SinBackward0#12345", "start.weight/AccumulateGrad#0"])
def test_a_link_to_a_node_opens_what_is_around_it(visitor, address):
    visitor.open(PAGE, **link(Chain(operations=20_000), node=address))
    assert visitor.graph["atlasSelected"] == address
    assert address.rpartition("/")[2].rpartition("#")[0] in visitor.text  # its details, below
    (place,) = [place for place in visitor.places if place.address == address] or [None]
    assert "AccumulateGrad" in address or 0 < place.x < 930


def test_what_is_selected_stands_in_the_link(visitor, browser, server):
    visitor.open(PAGE)
    place = visitor.box("node", "Relu")
    visitor.click_box(place)
    with visiting(browser, server.address) as other:
        other.page.goto(visitor.page.url)
        other.wait()
        assert other.graph["atlasSelected"] == place.address
        other.page.reload()
        other.wait()
        assert other.graph["atlasSelected"] == place.address
        other.choose("model", "Tied weight loop")
        expect(other.page).not_to_have_url(re.compile("node="))


def test_a_node_that_is_not_there_is_told(visitor):
    visitor.open(PAGE, node="layers.99/AddmmBackward0#0")
    assert "layers.99/AddmmBackward0#0 is not in this graph" in visitor.text
    assert visitor.graph["atlasSelected"] == ""


def test_every_colour_choice_has_its_legend(visitor):
    visitor.open(PAGE)
    seen, legend = set(), visitor.page.locator("[data-atlas-legend]")
    visitor.page.get_by_role("button", name="View").click()
    for choice in ("kind", "saved bytes", "dtype", "device", "module", "gradient norm"):
        visitor.control("colour").get_by_role("radio", name=choice, exact=True).click()
        visitor.wait_for_answer()
        for before in seen:
            expect(legend).not_to_have_text(before, use_inner_text=True)
        seen.add(legend.inner_text())
    assert len(seen) == 6
    assert any("gradient norm" in legend for legend in seen)


def test_a_long_trace_can_be_stopped_and_leaves_no_process(visitor, server):
    before = set(server.descendants())
    visitor.page.goto(
        f"{server.address}/{PAGE}?model=Recurrent+over+time&recurrent.cell=hand_written_lstm"
        "&recurrent.steps=2000&recurrent.layers=8"
    )
    visitor.control("stop.main").get_by_role("button").click()
    visitor.page.get_by_text("Try again").wait_for()
    end = time.monotonic() + 60
    while set(server.descendants()) - before and time.monotonic() < end:
        time.sleep(0.2)
    assert set(server.descendants()) <= before


def test_a_long_table_sends_its_first_rows_and_says_so(visitor):
    visitor.open(PAGE, **link(Chain(operations=20_000), view="Table"))
    assert "The first 5,000 of 20,005 nodes" in visitor.text
    visitor.control("table.filter").locator("input").fill("Addmm")
    visitor.control("table.filter").locator("input").press("Enter")
    visitor.wait_for_answer()
    assert "1 of 20,005 nodes" in visitor.text
