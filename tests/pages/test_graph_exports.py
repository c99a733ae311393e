"""The export menu of the autograd graph page: every file, made on click, for one model and for a comparison."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine import run
from engine.figures.view import GraphView
from engine.graph.spec import GraphSpec
from engine.models.spec import DynamicBlock, Mlp, ModelSpec
from pages.graph import exports, pictures

SPEC = GraphSpec(model=ModelSpec(architecture=Mlp(layers=4, depth=2, width=8)))
BEFORE = GraphSpec(model=ModelSpec(architecture=DynamicBlock(width=8)))
DOCS = Path(__file__).parents[2] / "docs" / "exports.md"


@pytest.fixture
def menu(monkeypatch):
    """The menu, with models traced in this process and a view that is not the default."""
    monkeypatch.setattr(pictures, "run", lambda spec: run(spec, inline=True))
    monkeypatch.setattr(exports, "current_view", lambda: GraphView(maximum_boxes=5, direction="backward"))
    return lambda pinned=None: exports.downloads(SPEC, run(SPEC, inline=True), pinned)


def made(menu, pinned=None) -> dict[str, str]:
    contents = {one.file_name: one.content() for one in menu(pinned)}
    return {name: text.decode() if isinstance(text, bytes) else text for name, text in contents.items()}


@pytest.mark.parametrize("pinned", [None, BEFORE], ids=["alone", "against A"])
def test_every_file_is_what_its_name_says(menu, pinned):
    files, graph = made(menu, pinned), run(SPEC, inline=True).graph
    assert len(json.loads(files["graph.json"])["nodes"]) == len(graph.nodes)
    assert json.loads(files["graph.json"])["leaves"]
    assert len(list(csv.reader(io.StringIO(files["nodes.csv"])))) == len(graph.nodes) + 1
    assert len(list(csv.reader(io.StringIO(files["edges.csv"])))) == len(graph.edges) + 1
    assert "subgraph cluster" in files["graph.dot"]
    for name in ("graph.svg", "graph-dark.svg"):
        assert ElementTree.fromstring(files[name]).tag.endswith("svg")
    for name in ("graph.html", "report.html"):
        assert "<title>Autograd graph of" in files[name]
    assert "import torch" in files["graph.html"]
    compile(files["graph.py"], "graph.py", "exec")


def test_nothing_is_made_before_a_click(menu, monkeypatch):
    for name in ("scene_svg", "graph_report", "interactive_html", "graph_json", "nodes_csv", "edges_csv", "graph_dot"):
        monkeypatch.setattr(exports, name, lambda *_, **__: pytest.fail("made too early"))
    assert len(menu()) == 10


def test_labels_say_what_and_how_much(menu):
    labels = [one.label for one in menu()]
    assert len(set(labels)) == len(labels)
    count = len(run(SPEC, inline=True).graph.nodes)
    assert f"All {count} nodes (CSV)" in labels


def test_every_file_is_documented(menu):
    text = DOCS.read_text(encoding="utf-8")
    assert [one.file_name for one in menu() if f"`{one.file_name}`" not in text] == []
