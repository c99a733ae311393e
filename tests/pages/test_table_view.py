"""The tables say what was recorded: non-finite gradients as such, and a reason only where there is no gradient."""

import math
import re

import pytest

from engine import run
from engine.graph.spec import GraphSpec, Traced
from engine.models.spec import Embedding, Expression, Mlp, ModelSpec
from pages.graph.table_view import filter_table, leaf_table, node_table


def traced(**model) -> Traced:
    return run(GraphSpec(model=ModelSpec(**model)), inline=True)


def row(of: Traced, name: str) -> dict[str, object]:
    table = leaf_table(of)
    return table[table["name"] == name].iloc[0].to_dict()


def test_a_nan_gradient_is_not_shown_as_none() -> None:
    of = traced(architecture=Expression(name="where_sqrt"))
    assert math.isnan(next(leaf.grad_norm for leaf in of.leaves if leaf.name == "x"))
    assert row(of, "x")["‖grad‖"] == "nan"
    assert "holds nan" in row(of, "x")["why .grad is None"]


def test_a_reason_stands_only_where_there_is_no_gradient() -> None:
    of = traced(architecture=Mlp(layers=3, depth=2))
    assert row(of, "layers.2.linear.weight")["‖grad‖"] == "None"
    assert "unused" in row(of, "layers.2.linear.weight")["why .grad is None"]
    assert float(row(of, "head.weight")["‖grad‖"]) > 0
    assert row(of, "head.weight")["why .grad is None"] == ""


def test_leaves_without_gradient_come_first() -> None:
    table = leaf_table(traced(architecture=Mlp(layers=3, depth=2)))
    has = [text != "None" for text in table["‖grad‖"]]
    assert has == sorted(has)


def test_a_sparse_gradient_names_its_layout() -> None:
    of = traced(architecture=Embedding(sparse=True))
    assert any("sparse_coo" in text for text in leaf_table(of)["‖grad‖"])


@pytest.mark.parametrize(
    ("text", "kinds", "wanted"),
    [("", [], "Backward|Accumulate"), ("RELU", [], "Relu"), (".*", [], "nothing"), ("", ["view"], "^TBackward")],
)
def test_filtering_takes_text_literally(text: str, kinds: list[str], wanted: str) -> None:
    graph = traced().graph
    expected = [node.id for node in graph.nodes if re.search(wanted, node.name)]
    assert list(filter_table(node_table(graph), text, kinds)["id"]) == expected
