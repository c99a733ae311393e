"""Paths in the browser against a walk over the graph's own edges here, and what of them the picture lights."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import pytest

from engine.figures.fold import FoldToggles, addresses, fold, forward_order, is_leaf
from engine.figures.scene import draw, prepare
from engine.figures.view import GraphView
from engine.graph.spec import Graph
from tests.component.graph_reader import CLOSED, encoded, reading, varied
from tests.figures.graphs import chain, graph, leaf, linear_relu, node, random_graph, tied_loop

pytestmark = [pytest.mark.slow, pytest.mark.browser]

OPEN = GraphView(maximum_boxes=5000, ceiling_boxes=5000)


def walk(made: Graph, start: int, forward: bool) -> dict[int, int]:
    """Distance of everything reached from `start`, towards the roots or (backward) towards the leaves."""
    reached, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for edge in made.edges:
            ends = (edge.target, edge.source) if forward else (edge.source, edge.target)
            if edge.target is not None and ends[0] == here and ends[1] not in reached:
                reached[ends[1]] = reached[here] + 1
                waiting.append(ends[1])
    return reached


def boxes_and_wires(made: Graph, view: GraphView, nodes: set[int], edges: list[tuple[int, int]]):
    """What must be lit: the box of every node, at leaves the box that uses it, and wires between two of them."""
    prepared = prepare(made, view)
    scene = draw(prepared, view)
    folded = prepared.folded
    shown = {
        folded.order[place]: box.address
        for box in scene.boxes
        if box.role != "frame"
        for place in range(box.first, box.last)
    }
    lit = {shown[folded.host[one]] for one in nodes if folded.host[one] != -1}
    wires = set()
    for consumer, producer in edges:
        source = folded.host[producer] if folded.host[producer] != -1 else folded.host[consumer]
        pair = (shown[source], shown[folded.host[consumer]])
        lit.update(pair)
        if pair[0] != pair[1]:
            wires.add(pair)
    return sorted(lit), sorted(wires)


def select(reader, address: str) -> None:
    reader.page.evaluate("(address) => view.select(address)", address)


@pytest.mark.parametrize("view", [OPEN, GraphView(maximum_boxes=6), CLOSED], ids=["open", "some", "closed"])
def test_everything_between_the_selection_and_the_roots(canvas_page, view):
    made = random_graph(11, 40)
    names = addresses(made, forward_order(made))
    reader = reading(canvas_page, encoded(made, view))
    connected = walk(made, made.roots[0].node, forward=False)
    for start in sorted(connected)[::7]:
        above = set(walk(made, start, forward=True))
        select(reader, names[start])
        reader.action("root").click()
        nodes, boxes, wires = reader.lit()
        assert nodes == sorted(above)
        edges = [(edge.source, edge.target) for edge in made.edges if edge.target in above]
        wanted = boxes_and_wires(made, view, above, edges)
        assert wires == wanted[1]
        if edges:
            assert boxes == wanted[0]


def test_leaves_come_nearest_first_by_a_shortest_path(canvas_page):
    made = random_graph(11, 40)
    names = addresses(made, forward_order(made))
    reader = reading(canvas_page, encoded(made, OPEN))
    edges = {(edge.source, edge.target) for edge in made.edges}
    reached = [walk(made, one, forward=False) for one in range(len(made.nodes))]
    start = max(range(len(reached)), key=lambda one: sum(is_leaf(made.nodes[end]) for end in reached[one]))
    below = reached[start]
    distances = sorted(below[one] for one in below if is_leaf(made.nodes[one]))
    assert len(distances) > 2
    select(reader, names[start])
    for distance in [*distances, distances[0]]:
        path = reader.page.evaluate("() => view.paths.toLeaf()")
        assert len(path) == distance + 1
        assert path[0] == start
        assert is_leaf(made.nodes[path[-1]])
        assert all(step in edges for step in pairwise(path))


def test_the_button_walks_and_the_label_counts(canvas_page):
    made = linear_relu()
    reader = reading(canvas_page, encoded(made, OPEN))
    assert reader.action("root").is_disabled()
    assert "Select a box first" in reader.action("leaf").get_attribute("title")
    reader.click_box("act/ReluBackward0#0")
    reader.action("root").click()
    assert reader.said["atlasPathWords"] == "path to loss: 2 nodes, 2 boxes"
    reader.action("leaf").click()
    words = "path to lin.bias, leaf 1 of 2 by distance: 3 nodes, 2 boxes"
    assert reader.said["atlasPathWords"] == words
    reader.action("leaf").click()
    words = "path to lin.weight, leaf 2 of 2 by distance: 4 nodes, 2 boxes"
    assert reader.page.locator(".atlas-path").inner_text().strip() == words
    reader.action("clear").click()
    assert reader.said["atlasPathWords"] == ""
    assert not reader.page.locator(".atlas-path").is_visible()


def test_from_a_parameter_all_its_uses_lead_to_the_root(canvas_page):
    made = tied_loop(6)
    reader = reading(canvas_page, encoded(made, OPEN))
    select(reader, "step.weight/AccumulateGrad#0")
    reader.action("leaf").click()
    assert reader.said["atlasPathWords"] == "path to loss: 14 nodes, 7 boxes"
    assert reader.lit()[0] == list(range(14))


def test_a_leaf_of_the_result_list_can_be_the_end(canvas_page):
    made = varied(6)
    reader = reading(canvas_page, encoded(made, OPEN))
    top = addresses(made, forward_order(made))[0]
    select(reader, top)
    reader.type("kind:leaf module:layers.2")
    reader.page.get_by_text("path", exact=True).click()
    nodes, *_ = reader.lit()
    assert nodes == [*range(12), 20]
    assert "path to layers.2.attn.weight: 13 nodes" in reader.said["atlasPathWords"]


def test_where_there_is_no_path_that_is_said(canvas_page):
    nodes = [
        node(0, "SumBackward0", sequence=3),
        node(1, "MulBackward0", sequence=2),
        leaf(2, "w"),
        node(3, "AddBackward0", sequence=1),
    ]
    reader = reading(canvas_page, encoded(graph(nodes, [(0, 0, 1), (3, 0, 2)]), OPEN))
    select(reader, "/MulBackward0#0")
    reader.action("leaf").click()
    assert reader.said["atlasPathWords"] == "No path: a leaf cannot be reached from MulBackward0."
    select(reader, "w/AccumulateGrad#0")
    reader.action("root").click()
    assert reader.said["atlasPathWords"].startswith("No path: nothing that w leads to is a traced output")


def test_what_is_lit_stays_lit_when_a_group_opens(canvas_page):
    made = varied(8)
    reader = reading(canvas_page, encoded(made, GraphView(expanded=("layers",), maximum_boxes=30)))
    select(reader, "layers.3")
    reader.action("root").click()
    before = reader.lit()
    opened = GraphView(expanded=("layers", "layers.5"), maximum_boxes=60)
    reader.page.evaluate("(bytes) => window.show(new Uint8Array(bytes))", list(encoded(made, opened)))
    after = reader.lit()
    assert after[0] == before[0]
    assert set(after[1]) > set(before[1]) - {"layers.5"}
    reader.page.evaluate("(bytes) => window.show(new Uint8Array(bytes))", list(encoded(chain(9), OPEN)))
    assert reader.said["atlasPathWords"] == ""


def test_leaves_with_boxes_of_their_own_are_lit_at_the_use_on_the_path(canvas_page):
    made = tied_loop(3)
    view = GraphView(maximum_boxes=5000, fold_leaves=False)
    reader = reading(canvas_page, encoded(made, view))
    select(reader, "step/MmBackward0#0")
    path = reader.page.evaluate("() => view.paths.toLeaf()")
    assert path == [5, 6, 7]
    folded = fold(made, FoldToggles(leaves=False))
    assert len(folded.copies) == 3
    copies = [address for address in reader.lit()[1] if "AccumulateGrad" in address]
    assert len(copies) == 1


def test_a_path_through_20_000_nodes(canvas_page):
    made = chain(20_000, "long")
    reader = reading(canvas_page, encoded(made, CLOSED))
    select(reader, "long/AddBackward0#0")
    reader.action("root").click()
    assert reader.said["atlasPathWords"].startswith("path to loss: 20\u202f000 nodes")
