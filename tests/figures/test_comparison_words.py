"""What a comparison tells in sentences: shares, runs that failed, runs without a graph."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine import run
from engine.figures.comparison import compare_graphs
from engine.figures.comparison_words import difference_share, failed_run, few_pairs
from engine.graph.rows import Root
from engine.graph.spec import Graph, GraphSpec, PyTorchError
from engine.models.spec import Expression, ModelSpec
from tests.figures.graphs import linear_relu

NO_GRAPH = Graph.of([], [], [Root(name, None, 0, (), "float32", "does not require grad") for name in ("loss", "y")])


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (100, 67, "−33%"),
        (100, 133, "+33%"),
        (100, 1000, "+900%"),
        (100, 1001, "×10.0"),
        (4, 420, "×105"),
        (1 << 30, (1 << 30) + 4, "<1%"),
        (1 << 30, (1 << 30) - 4, "<1%"),
        (1 << 30, 4, "to <1% of A"),
        (100, 0, "−100%"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_nor_to_all(a, b, told):
    assert difference_share(a, b) == told


def test_a_run_without_a_graph_says_why():
    why = "recorded no graph (loss and y: does not require grad)."
    assert few_pairs(compare_graphs(NO_GRAPH, linear_relu())) == f"A {why}"
    assert few_pairs(compare_graphs(linear_relu(), NO_GRAPH)) == f"This run {why}"
    assert few_pairs(compare_graphs(NO_GRAPH, NO_GRAPH)) == f"A {why} This run {why}"
    assert few_pairs(compare_graphs(Graph.of([], [], []), linear_relu())) == "A recorded no graph."
    assert few_pairs(compare_graphs(linear_relu(), linear_relu())) == ""


def test_a_backward_that_failed_in_a_is_told_in_pytorchs_words():
    model = ModelSpec(architecture=Expression(name="in_place_after_save"))
    told = failed_run(run(GraphSpec(model=model), inline=True))
    assert told.startswith("In A, PyTorch raised RuntimeError in backward (one of the variables needed for gradient")
    assert "gradients are not complete" in told
    assert failed_run(run(GraphSpec(model=model, backward=False), inline=True)) == ""


@pytest.mark.parametrize("stage", ["forward", "loss", "backward"])
def test_an_error_of_any_stage_and_length_is_told_short(stage):
    error = PyTorchError(stage=stage, type="ValueError", message="long " * 10_000)
    told = failed_run(SimpleNamespace(error=error))  # type: ignore[arg-type]
    assert f"ValueError in {stage}" in told
    assert len(told) < 400
