"""Bars add up to the bytes autograd saved, each storage once, at any depth."""

import pytest

from engine import run
from engine.figures.saved_by_module import OUTSIDE, at_one_depth, bytes_by_module, bytes_by_path, draw_saved_by_module
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


def test_two_runs_stand_side_by_side_and_say_how_far_they_are_apart() -> None:
    small, large = graph_of(architecture=Mlp()), graph_of(architecture=Mlp(), batch=8)
    figure = draw_saved_by_module(large, "light", small)
    sums = dict.fromkeys((True, False), 0.0)
    for bar in figure.data:
        if bar.customdata is not None:
            sums[bar.marker.opacity < 1] += sum(bar.x)
    assert sums == {True: pytest.approx(small.saved_bytes / 1024), False: pytest.approx(large.saved_bytes / 1024)}
    told = [text for bar in figure.data if bar.customdata is not None for _, text in bar.customdata]
    assert any("+1.00 KiB to A" in text for text in told)
    assert len({bar.legendgroup for bar in figure.data if bar.showlegend and bar.legendgroup}) == 3


def test_runs_of_different_depth_have_the_same_rows() -> None:
    deep, shallow = (bytes_by_path(graph_of(architecture=Mlp(layers=n, depth=n))) for n in (4, 2))
    rows = at_one_depth(shallow, deep)
    assert list(rows[0]) == list(rows[1])
    assert [sum(sum(row.values()) for row in run.values()) for run in rows] == [
        sum(sum(row.values()) for row in run.values()) for run in (shallow, deep)
    ]
    few = at_one_depth(shallow, deep, bars=2)
    assert all(len(run) == 2 for run in few)
    assert sum(sum(row.values()) for row in few[1].values()) == sum(sum(row.values()) for row in deep.values())
