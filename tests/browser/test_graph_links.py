"""Links to nodes and groups, and the browser's Back between them."""

from __future__ import annotations

import re

from playwright.sync_api import expect

PAGE = "autograd-graph"


def test_selections_make_no_history_and_back_closes_what_was_opened(visitor):
    visitor.open(PAGE)
    visitor.click_box(visitor.box("frame"), double=True)
    expect(visitor.page).to_have_url(re.compile("opened="))
    entries = visitor.page.evaluate("history.length")
    for role, name in (("node", "Sum"), ("group", "layers")):
        place = visitor.box(role, name)
        visitor.click_box(place)
        assert visitor.graph["atlasSelected"] == place.address
        visitor.page.wait_for_function(
            "address => new URLSearchParams(location.search).get('node') === address", arg=place.address
        )
    assert visitor.page.evaluate("history.length") == entries
    visitor.page.go_back()
    visitor.wait_for_answer()
    expect(visitor.page).not_to_have_url(re.compile("opened="))


def test_a_link_to_a_node_outside_of_the_group_it_draws(visitor):
    visitor.open(PAGE)
    fitting = {place.address for place in visitor.places if place.role == "frame"}
    visitor.open(PAGE, inside="layers.1", node="head/AddmmBackward0#0")
    assert "head/AddmmBackward0#0 is not inside of layers.1" in visitor.text
    expect(visitor.page).not_to_have_url(re.compile("inside="))
    assert visitor.graph["atlasSelected"] == "head/AddmmBackward0#0"
    assert fitting <= {place.address for place in visitor.places if place.role == "frame"}


def test_groups_that_are_not_there_are_told(visitor):
    visitor.open(PAGE, opened="nothing")
    status = visitor.page.locator("[data-atlas-status]")
    expect(status).to_contain_text("1 group of this link is not in this graph")
    assert any(place.role == "frame" for place in visitor.places)
