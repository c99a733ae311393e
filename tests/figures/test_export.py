"""Files: well formed, complete, and safe with any name."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest

from engine.figures.export import EDGE_COLUMNS, NODE_COLUMNS, edges_csv, graph_dot, nodes_csv
from engine.figures.graph_report import graph_report, leaf_table
from engine.figures.report import Table
from engine.figures.scene import build_scene
from engine.figures.svg import scene_svg
from engine.figures.view import GraphView
from engine.graph.spec import Graph, Leaf, Root
from tests.figures.graphs import HOSTILE, graph, leaf, linear_relu, node, saved

SVG = "{http://www.w3.org/2000/svg}"


def hostile(name):
    return graph(
        [
            node(0, name, name, sequence=1, slots=[saved(0, 8, True)]),
            node(1, "Mul", name, sequence=0),
            leaf(2, name, name),
        ],
        [(0, 0, 1), (0, 1, None), (1, 0, 2)],
        roots=((name, 0),),
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_svg_has_every_box_and_wire(theme):
    scene = build_scene(linear_relu())
    root = ElementTree.fromstring(scene_svg(scene, theme))
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"Addmm", "Relu", "Sum", "weight 8×8", "loss"} <= set(words)
    assert len([path for path in root.iter(f"{SVG}path") if path.get("marker-end")]) == len(scene.wires)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_in_svg(name):
    root = ElementTree.fromstring(scene_svg(build_scene(hostile(name))))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "defs", "marker", "pattern", "path", "rect", "g", "text"}


@pytest.mark.parametrize("colour_by", ["kind", "dtype", "module", "saved bytes"])
def test_the_legend_lies_below_the_picture_and_inside_of_it(colour_by):
    scene = build_scene(linear_relu(), GraphView(colour_by=colour_by))
    root = ElementTree.fromstring(scene_svg(scene))
    left, top, width, height = map(float, root.get("viewBox").split())
    below = [text for text in root.iter(f"{SVG}text") if float(text.get("y")) > scene.height]
    entries = [scene.colours[index] for index in scene.legend]
    scale = [colour for colour in entries if colour.scale]
    words = [scale[0].scale, *(colour.stop for colour in scale)] if scale else []
    assert [text.text for text in below] == [*words, *(colour.label for colour in entries if not colour.scale)]
    assert bool(scale) == (colour_by == "saved bytes")
    for text in below:
        assert float(text.get("y")) < top + height
        assert left <= float(text.get("x")) + 6 * len(text.text) <= left + width


class Tags(HTMLParser):
    """Collects the tags and attributes that a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_in_html(name):
    table = Table(name, (name,), ((name,),))
    page = graph_report(build_scene(hostile(name)), hostile(name), title=name, tables=[table], spec=name, script=name)
    parser = Tags()
    parser.feed(page)
    assert not parser.tags & {"script", "img", "iframe", "link", "object"}
    assert not {attribute for attribute in parser.attributes if attribute.startswith("on")}


def test_the_report_is_self_contained_and_complete():
    made = linear_relu()
    table = leaf_table(
        [Leaf("lin.weight", "parameter", (8, 8), "float32", True, True, 1, 0.5, "float32", "strided", "", "")]
    )
    page = graph_report(build_scene(made), made, title="Title", tables=[table], spec="the spec", script="import torch")
    addresses = re.findall(r"(?:https?:)?//[\w.-]+", page)
    assert set(addresses) <= {"http://www.w3.org"}
    for words in ("Title", "6 of 6 nodes shown", "lin.weight", "0.500", "the spec", "import torch"):
        assert words in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)


FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\n=1", "  =1", "\r=1", "＝1", "-", "=")


def guarded(cell):
    return not re.match(r"\s*[=+\-@＝＋－＠]|[\t\r]", cell)


@pytest.mark.parametrize(
    "name", [*HOSTILE, *FORMULAS, "\ud800", 'a,"b";c', "two\nlines"], ids=lambda name: ascii(name)[:20]
)
def test_csv_round_trips_and_never_starts_a_formula(name):
    for text, columns, length in (
        (nodes_csv(hostile(name)), NODE_COLUMNS, 3),
        (edges_csv(hostile(name)), EDGE_COLUMNS, 3),
    ):
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert rows[0] == list(columns)
        assert [len(row) for row in rows] == [len(columns)] * (length + 1)
        assert all(guarded(cell) for row in rows for cell in row)
        frame = pd.read_csv(io.BytesIO(text.encode()), keep_default_na=False, dtype=str)
        assert frame.to_numpy().tolist() == rows[1:]


def test_csv_holds_what_was_recorded():
    made = linear_relu()
    nodes = pd.read_csv(io.StringIO(nodes_csv(made)), keep_default_na=False)
    addmm = nodes[nodes["name"] == "AddmmBackward0"].iloc[0]
    assert (addmm["id"], addmm["module"], addmm["saved_bytes"], addmm["saved_slots"]) == (2, "lin", 320, 2)
    assert (addmm["output_shapes"], addmm["output_dtypes"]) == ("(4, 8)", "float32")
    assert nodes["name"].tolist()[-3:] == ["AddmmBackward0", "ReluBackward0", "SumBackward0"]
    edges = pd.read_csv(io.StringIO(edges_csv(made)), keep_default_na=False)
    assert [tuple(row) for row in edges[["source", "output_nr", "target"]].to_numpy().astype(str)] == [
        (str(edge.source), str(edge.output_nr), "" if edge.target is None else str(edge.target)) for edge in made.edges
    ]
    assert edges[edges["target_address"] == "lin.weight/AccumulateGrad#0"]["shape"].tolist() == ["(8, 8)"]


def test_an_empty_graph_exports_too():
    empty = Graph.of(nodes=(), edges=(), roots=(Root("loss", None, 0, (), "float32", "made under no_grad"),))
    scene = build_scene(empty)
    assert "Nothing to draw: made under no_grad. " in scene_svg(scene)
    assert "made under no_grad" in graph_report(scene, empty, title="t")
    assert nodes_csv(empty).strip() == ",".join(NODE_COLUMNS)
    assert edges_csv(empty).strip() == ",".join(EDGE_COLUMNS)
    assert "digraph" in graph_dot(empty)
