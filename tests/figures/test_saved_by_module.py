"""Bars add up to the bytes autograd saved, each storage once, at any depth."""

import pytest

from engine import run
from engine.figures.saved_by_module import OUTSIDE, bytes_by_module, draw_saved_by_module
from engine.graph.spec import Graph, GraphSpec
from engine.models.spec import Expression, Gpt, Mlp, ModelSpec, TiedLoop


def graph_of(**model) -> Graph:
    return run(GraphSpec(model=ModelSpec(**model), backward=False), inline=True).graph


@pytest.mark.parametrize(
    "architecture", [Mlp(), Mlp(layers=40, depth=40), Gpt(layers=3), TiedLoop(), Expression(name="mul_self")], ids=str
)
@pytest.mark.parametrize("bars", [2, 16, 1000])
def test_bars_add_up_to_the_saved_bytes(architecture, bars: int) -> None:
    graph = graph_of(architecture=architecture)
    rows = bytes_by_module(graph, bars)
    assert sum(sum(row.values()) for row in rows.values()) == graph.saved_bytes
    assert sum(row["parameter"] for row in rows.values()) == graph.parameter_bytes
    assert 1 <= len(rows) <= bars


def test_a_linear_saves_its_input_and_its_weight() -> None:
    graph = graph_of(
        architecture=Mlp(layers=2, depth=2, width=8, in_features=4, out_features=2, residual=False), batch=3
    )
    rows = bytes_by_module(graph)
    # The first Linear's input needs no gradient, so its weight is not saved: only the input, 3 x 4 floats.
    assert dict(rows["layers.0.linear"]) == {"input": 3 * 4 * 4}
    # The second Linear saves the first ReLU's output, which that ReLU had saved already, and its weight of 8 x 8.
    assert dict(rows["layers.1.linear"]) == {"parameter": 8 * 8 * 4}
    assert dict(rows["layers.0"]) == {"intermediate": 3 * 8 * 4}


def test_an_expression_has_no_modules() -> None:
    assert list(bytes_by_module(graph_of(architecture=Expression(name="mul_self")))) == [OUTSIDE]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chart_shows_the_same_bytes(theme) -> None:
    graph = graph_of(architecture=Mlp())
    figure = draw_saved_by_module(graph, theme)
    assert figure.layout.xaxis.title.text == "saved for backward, KiB"
    assert sum(sum(bar.x) for bar in figure.data) == pytest.approx(graph.saved_bytes / 1024)


def test_nothing_saved_draws_an_empty_chart() -> None:
    figure = draw_saved_by_module(Graph.of(nodes=(), edges=(), roots=()))
    assert len(figure.data) == 0
