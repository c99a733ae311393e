"""The JSON export and its schema: every field described, real and hostile graphs valid, 100,000 nodes one by one."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import msgspec
import pytest

from engine import run
from engine.figures import schema
from engine.figures.export import graph_json
from engine.figures.fold import addresses, forward_order
from engine.graph import spec as recorded
from engine.graph.spec import GraphSpec, Root
from engine.models.spec import DynamicBlock, Gpt, Mlp, ModelSpec, Recurrent
from tests.figures.graphs import HOSTILE, chain, graph, leaf, linear_relu, node, saved, tied_loop

DOCUMENTED = Path(__file__).parents[2] / "docs" / "graph.schema.json"
ROWS = (
    (schema.TensorMetadata, recorded.TensorMetadata),
    (schema.Attribute, recorded.Attribute),
    (schema.Saved, recorded.Saved),
    (schema.Source, recorded.Source),
    (schema.Node, recorded.Node),
    (schema.Edge, recorded.Edge),
    (schema.Root, recorded.Root),
    (schema.Leaf, recorded.Leaf),
    (schema.Module, recorded.ModuleCall),
)
MODELS = (
    ModelSpec(architecture=Mlp(layers=4, depth=2, width=8), checkpoint="each_block"),
    ModelSpec(architecture=DynamicBlock(width=8)),
    ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50)),
    ModelSpec(architecture=Recurrent(cell="hand_written_lstm", steps=3)),
)


@cache
def validator() -> jsonschema.Draft202012Validator:
    found = json.loads(DOCUMENTED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def checked(text: bytes) -> dict:
    content = json.loads(text)
    assert [error.message for error in validator().iter_errors(content)] == []
    return content


def test_the_documented_schema_is_what_the_code_says():
    assert DOCUMENTED.read_text(encoding="utf-8") == schema.graph_schema(), (
        "python -m engine.figures.schema > docs/graph.schema.json"
    )


def parts() -> dict[str, dict]:
    found = json.loads(schema.graph_schema())
    return {"GraphFile": found, **found["$defs"]}


@pytest.mark.parametrize("name", parts())
def test_every_field_is_described_or_names_itself(name):
    for field, says in parts()[name]["properties"].items():
        described = "description" in says or "$ref" in says or any("$ref" in one for one in says.get("anyOf", ()))
        assert described or (field in ("requires_grad", "is_leaf") and says["type"] == "boolean")
    assert parts()[name]["description"]


@pytest.mark.parametrize(("exported", "row"), ROWS, ids=lambda kind: kind.__name__)
def test_nothing_recorded_is_left_out(exported, row):
    assert set(row.__struct_fields__) <= set(exported.__struct_fields__)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model.architecture).__name__)
def test_real_models_are_valid(model):
    traced = run(GraphSpec(model=model), inline=True)
    content = checked(graph_json(traced.graph, traced.leaves, traced.modules))
    assert len(content["nodes"]) == len(traced.graph.nodes) > 5
    assert {one["name"]: one["grad_norm"] for one in content["leaves"]} == {
        one.name: one.grad_norm for one in traced.leaves
    }
    assert content["saved_bytes"] == traced.graph.saved_bytes > 0
    assert [one["path"] for one in content["modules"]] == [one.path for one in traced.modules]


@pytest.mark.parametrize("name", [*HOSTILE, "\u2028", "\ud800", "\x7f"], ids=lambda name: ascii(name)[:20])
def test_hostile_names_come_back_as_they_are(name):
    made = graph([node(0, name, name, sequence=1, slots=[saved(0, 8)]), leaf(1, name, name)], [(0, 0, 1), (0, 1, None)])
    content = checked(graph_json(made))
    assert [one["name"] for one in content["nodes"]] == [name, made.nodes[1].name]
    assert content["nodes"][1]["variable"] == name


def test_a_file_says_what_it_is_and_names_its_fields():
    made = linear_relu()
    content = checked(graph_json(made))
    assert (content["format"], content["version"]) == ("torch-atlas-graph", 1)
    assert [one["address"] for one in content["nodes"]] == addresses(made, forward_order(made))
    assert content["nodes"][2]["saved"][0]["bytes"] == 64
    assert content["edges"][3] == {"source": 2, "output_nr": 1, "target": None, "input_nr": 0}
    assert list(content) == list(schema.GraphFile.__struct_fields__)


def test_an_empty_graph_is_valid():
    empty = graph([], [], roots=())
    content = checked(
        graph_json(msgspec.structs.replace(empty, roots=(Root("loss", None, 0, None, "float32", "why"),)))
    )
    assert content["nodes"] == content["edges"] == []
    assert content["roots"][0]["note"] == "why"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content.pop("format"),
        lambda content: content.update(version=2),
        lambda content: content["nodes"][2]["saved"][0].update(bytes="64"),
        lambda content: content["nodes"][2].pop("address"),
        lambda content: content["edges"][0].update(source=-1),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil):
    content = json.loads(graph_json(linear_relu()))
    spoil(content)
    assert list(validator().iter_errors(content))


def test_it_reads_back_into_what_was_recorded():
    made = tied_loop(50)
    content = msgspec.json.decode(graph_json(made), type=schema.GraphFile)
    for read, was in zip(content.nodes, made.nodes, strict=True):
        assert msgspec.convert(read, schema.Node, from_attributes=True).name == was.name
        assert [slot.bytes for slot in read.saved] == [slot.bytes for slot in was.saved]
    assert [(e.source, e.output_nr, e.target, e.input_nr) for e in content.edges] == [
        (e.source, e.output_nr, e.target, e.input_nr) for e in made.edges
    ]


@pytest.mark.slow
def test_a_hundred_thousand_nodes_are_written_one_line_each():
    made = chain(100_000)
    text = graph_json(made)
    assert text.count(b"\n") < 200_100
    assert text.count(b'"MulBackward0"') == 50_000
    content = msgspec.json.decode(text, type=schema.GraphFile)
    assert len(content.nodes) == 100_000
    assert len({one.address for one in content.nodes}) == 100_000
