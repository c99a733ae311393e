"""Files: well formed, complete, and safe with any name."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from engine.figures.export import COLUMNS, dot_quoted, graph_dot, graph_json, nodes_csv
from engine.figures.graph_report import graph_report, leaf_table
from engine.figures.report import Table
from engine.figures.scene import build_scene
from engine.figures.svg import scene_svg
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


@pytest.mark.skipif(shutil.which("dot") is None, reason="no dot binary to check with")
@pytest.mark.parametrize("name", [*HOSTILE, "plain"])
def test_dot_reads_what_we_write(name):
    done = subprocess.run(
        ["dot", "-Tplain"], input=graph_dot(hostile(name)), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^node ", done.stdout, re.M)) == 3
    assert len(re.findall(r"^edge ", done.stdout, re.M)) == 2


def test_dot_quotes():
    assert dot_quoted('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'


def test_json_names_its_fields():
    content = json.loads(graph_json(linear_relu()))
    assert content["nodes"][2]["name"] == "AddmmBackward0"
    assert content["nodes"][2]["address"] == "lin/AddmmBackward0#0"
    assert content["nodes"][2]["saved"][0]["bytes"] == 64
    assert content["edges"][3] == {"source": 2, "output_nr": 1, "target": None, "input_nr": 0}


@pytest.mark.parametrize("name", HOSTILE)
def test_csv_round_trips_and_never_starts_a_formula(name):
    rows = list(csv.reader(io.StringIO(nodes_csv(hostile(name)), newline="")))
    assert rows[0] == list(COLUMNS)
    assert len(rows) == 4
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for row in rows for cell in row)


def test_an_empty_graph_exports_too():
    empty = Graph(nodes=(), edges=(), roots=(Root("loss", None, 0, (), "float32", "made under no_grad"),))
    scene = build_scene(empty)
    assert "nothing to draw: made under no_grad" in scene_svg(scene)
    assert "made under no_grad" in graph_report(scene, empty, title="t")
    assert nodes_csv(empty).strip() == ",".join(COLUMNS)
    assert json.loads(graph_json(empty))["nodes"] == []
    assert "digraph" in graph_dot(empty)
