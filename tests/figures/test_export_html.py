"""The interactive HTML file as text: what it holds, within which limits, and that nothing gets out of its data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from engine.figures.embedded_pictures import Limits, embed
from engine.figures.interactive_html import Canvas, interactive_html
from engine.figures.node_facts import LONGEST, NodeFacts, cut, node_facts, slot_words
from engine.figures.payload import unpack
from engine.figures.scene import draw, prepare
from engine.figures.view import GraphView
from engine.graph.spec import Leaf, Saved
from pages.shared.canvas_files import canvas_files, write_html
from tests.figures.graphs import HOSTILE, chain, graph, leaf, linear_relu, node, saved, tied_loop

ROOT = Path(__file__).parents[2]
SMALL = GraphView(maximum_boxes=10)


class Elements(HTMLParser):
    """Every element a browser would see, with its attributes and the text of scripts."""

    def __init__(self, page: str):
        super().__init__()
        self.seen, self.scripts, self.inside = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def embedded(made, view=SMALL, limits=None, leaves=()):
    prepared = prepare(made, view)
    return embed(prepared, view, draw(prepared, view), leaves, limits)


def opened(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))


def boxes_of(packed: str) -> list[dict]:
    content, _ = unpack(opened(packed))
    return [dict(zip(content["fields"]["boxes"], row, strict=True)) for row in content["boxes"]]


def page(made=None, view=SMALL, **options) -> str:
    return interactive_html(prepare(made or linear_relu(), view), view, canvas_files(), **{"title": "T", **options})


@pytest.mark.parametrize(
    "name", [*HOSTILE, "\u2028", "</ScRiPt >", "<!-- canvas -->"], ids=lambda name: ascii(name)[:20]
)
def test_no_name_makes_an_element(name):
    nodes = [node(i, name, f"{name}.{i % 2}", sequence=9 - i, slots=[saved(i, 8, owner=name)]) for i in range(8)]
    made = graph([*nodes, leaf(8, name, name)], [(i, 0, i + 1) for i in range(8)], roots=((name, 0),))
    found = Elements(page(made, title=name, spec=name, script=name, numbers=((name, name),)))
    plain = Elements(page())
    assert [tag for tag, _ in found.seen] == [tag for tag, _ in plain.seen]
    assert [attributes for tag, attributes in found.seen if tag == "script"] == [
        {"type": "application/json", "id": "atlas-data"},
        {},
    ]
    data = json.loads(found.scripts[0])
    assert (data["spec"], data["script"], data["numbers"]) == (name, name, [[name, name]])
    assert not re.search("[<>&\u2028\u2029]", found.scripts[0])


def test_the_policy_names_the_one_script_and_no_address():
    found = Elements(page())
    policy = next(one["content"] for tag, one in found.seen if tag == "meta" and "http-equiv" in one)
    digest = base64.b64encode(hashlib.sha256(found.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    assert not [one for tag, one in found.seen if {"src", "srcset"} & set(one) or (tag != "a" and "href" in one)]
    assert set(re.findall(r"https?://[^\s\"')]+", page())) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("scripts", "what"),
    [
        ("function a() {}", "one `export default`"),
        ("export default 1\nexport default 2", "one `export default`"),
        ("export default '</script>'", "must not hold"),
        ("export default '<!--'", "must not hold"),
    ],
)
def test_a_canvas_that_would_break_the_page_is_refused(scripts, what):
    canvas = msgspec.structs.replace(canvas_files(), scripts=scripts)
    with pytest.raises(ValueError, match=what):
        interactive_html(prepare(linear_relu(), SMALL), SMALL, canvas, title="T")


def test_every_group_has_its_inside_and_every_node_is_somewhere():
    made = tied_loop(60)
    held = embedded(made)
    assert held.left_out == ""
    reached = {box["address"] for packed in held.pictures for box in boxes_of(packed) if box["role"] != "node"}
    assert reached == set(held.inside)
    facts = json.loads(opened(held.facts))
    told = [msgspec.convert(row, NodeFacts) for row in facts["nodes"]]
    assert {one.id for one in told} == {one.id for one in made.nodes}
    assert {number for _, number in facts["home"]} <= set(range(len(held.pictures)))
    for members, packed in zip(facts["members"], held.pictures, strict=True):
        assert set(members) == {box["address"] for box in boxes_of(packed) if box["role"] == "node"}


def test_the_index_of_the_whole_graph_is_there_once():
    held = embedded(tied_loop(60))
    assert "index" in unpack(opened(held.pictures[0]))[0]
    assert all("index" not in unpack(opened(one))[0] for one in held.pictures[1:])


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(boxes=60), "at most 60 boxes"),
        (Limits(visits=400), "groups of a graph this large"),
        (Limits(bytes=9000), "at most 8.79 KiB"),
    ],
)
def test_limits_hold_and_are_said(limits, reason):
    held = embedded(tied_loop(60), limits=limits)
    assert reason in held.left_out
    assert len(held.pictures) < len(embedded(tied_loop(60)).pictures)
    assert sum(len(boxes_of(packed)) for packed in held.pictures) <= max(limits.boxes, len(boxes_of(held.pictures[0])))
    assert json.loads(Elements(page(tied_loop(60), limits=limits)).scripts[0])["more"] == held.left_out


def test_the_same_graph_gives_the_same_file():
    assert page(tied_loop(30)) == page(tied_loop(30))


def test_facts_say_what_was_recorded():
    made = linear_relu()
    held = json.loads(opened(embedded(made, GraphView()).facts))
    rows = {one.id: one for one in msgspec.convert(held["nodes"], list[NodeFacts])}
    addmm = rows[2]
    assert (addmm.name, addmm.kind, addmm.address) == ("AddmmBackward0", "operation", "lin/AddmmBackward0#0")
    assert addmm.lines == ("module lin", "sequence_nr 1")
    assert addmm.inputs == ("#0: 4×8 float32 on cpu",)
    assert addmm.saved[1] == ("self", "(64,)", "float32", "256 B", "parameter", "2", "0", "kept")
    assert addmm.next == (
        (0, "AccumulateGrad of lin.bias (id 3), its output 0", 3),
        (1, "None: a constant, or needs no gradient", -1),
        (2, "TBackward0 (id 4), its output 0", 4),
    )
    assert addmm.users == (("ReluBackward0 (id 1)", 1),)
    assert rows[0].users == ()


def test_a_leaf_tells_its_gradient_or_why_there_is_none():
    made = graph([node(0, "Mul", sequence=1), leaf(1, "w"), leaf(2, "b")], [(0, 0, 1), (0, 1, 2)])
    known = [
        Leaf("w", "parameter", (8, 8), "float32", True, True, 1, 0.25, "float32", "strided", "", ""),
        Leaf("b", "parameter", (8, 8), "float32", True, True, 1, None, "", "", "not_run", "backward has not run"),
    ]
    rows = json.loads(opened(embedded(made, GraphView(), leaves=known).facts))["nodes"]
    lines = {row[0]: row[NodeFacts.__struct_fields__.index("lines")] for row in rows}
    assert lines[1] == ["outside of modules", "accumulates into w.grad", "gradient norm 0.250"]
    assert lines[2][-1] == "backward has not run"


def test_slots_say_when_they_cannot_be_used():
    kept = saved(0, 4096)
    say = slot_words
    assert say(kept)[3:] == ("4.00 KiB (4\u202f096 B)", "intermediate", "0", "0", "kept")
    assert say(saved(0, 8, dropped=True))[-1] == "dropped by checkpoint"
    changed = Saved("self", (2,), "torch.float32", (1,), "cpu", 8, 8, 0, "", "intermediate", 0, 3, False)
    assert say(changed)[-2:] == ("saved at 0, now 3", "modified in place")
    lost = Saved("self", None, "", None, "", 0, 0, None, "", "", None, None, False, "freed by backward")
    assert say(lost) == ("self", "", "", "", "", "", "", "freed by backward")


def test_long_texts_and_many_edges_are_cut_and_counted():
    assert cut("a" * 10) == "a" * 10
    assert cut("a" * 100_000).endswith(f"and {100_000 - LONGEST} more letters")
    hub = node(0, "Hub")
    facts = node_facts(hub, "Hub#0", [], list(range(1, 301)), {i: f"n{i}" for i in range(301)}, {})
    assert (len(facts.users), facts.more_users) == (100, 200)


def test_the_page_has_the_themes_of_the_app():
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    styles = canvas_files().styles
    for mode in ("light", "dark"):
        block = styles.split(f':root[data-theme="{mode}"] {{')[1].split("}")[0]
        held = dict(re.findall(r"--st-([a-z-]+): (#[0-9a-f]{6});", block))
        named = {
            "".join(part.title() if at else part for at, part in enumerate(n.split("-"))): v for n, v in held.items()
        }
        assert named == {name: theme[mode][name].lower() for name in named}
        assert len(named) == 6


def test_every_variable_of_the_canvas_has_a_value():
    canvas = canvas_files()
    used = set(re.findall(r"--st-[a-z-]+", canvas.scripts + canvas.styles))
    assert used <= set(re.findall(r"(--st-[a-z-]+):", canvas.styles))


def test_a_notebook_writes_one_file(tmp_path):
    path = write_html(linear_relu(), tmp_path / "graph.html", title="Mine")
    assert "<title>Mine</title>" in path.read_text(encoding="utf-8")


def test_nothing_to_draw_is_a_file_too():
    assert Elements(page(graph([], [], roots=()))).scripts


@pytest.mark.slow
def test_a_hundred_thousand_nodes_stay_within_the_limits():
    held = embedded(chain(100_000), GraphView())
    assert held.size_bytes < Limits().bytes
    assert 5 < len(held.pictures) <= 2 + Limits().visits // 100_000
    assert "a graph this large" in held.left_out


def test_assets_are_texts():
    assert all(isinstance(getattr(canvas_files(), name), str) for name in Canvas.__struct_fields__)
