"""Heat maps and histograms: every value has its place, and zero, NaN and infinity are told apart from values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.figures.arrays import array, as_matrix, summary_map
from engine.figures.heat_map import diverging_scale, heat_map, label_text, shared_limits, summary_heat_map, value_text
from engine.figures.histogram import histogram, summary_histogram
from engine.figures.palette import SURFACE, contrast, meaning, mix
from engine.figures.reduced import LARGEST_SIDE, reduce
from engine.runner.contract import Array
from engine.summary import TensorSummary

DRAW = np.random.default_rng(0)
HOSTILE = '<img src=x onerror=alert(1)> $\\alpha$ "quoted" & long ' + "x" * 300


def layers(figure: Any) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "heatmap"]


def cells(figure: Any) -> np.ndarray:
    """How many layers colour each cell."""
    return np.sum([~np.isnan(np.asarray(trace.z, dtype=float)) for trace in layers(figure)], axis=0)


def summary(**values: Any) -> TensorSummary:
    told = {"shape": (2, 2), "dtype": "float32", "layout": "strided", "device": "cpu", "numel": 4, "norm": 1.0}
    rest = {"minimum": 0.0, "maximum": 1.0, "mean": 0.5, "zeros": 1, "nans": 0, "infinities": 0}
    return TensorSummary(**(told | rest | values))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("diverging", [True, False])
def test_every_cell_is_coloured_by_one_layer_and_kept_its_value(theme, diverging):
    values = np.array([[0.0, -3.0, 2.0], [np.nan, np.inf, -np.inf]])
    figure = heat_map(values, theme, title="w", diverging=diverging)
    assert cells(figure).tolist() == [[1, 1, 1], [1, 1, 1]]
    shown, zeros, bad = layers(figure)
    expected = np.array([-3.0, 2.0]) if diverging else np.array([3.0, 2.0])
    assert np.asarray(shown.z)[0, 1:].tolist() == expected.tolist()
    assert (shown.zmin, shown.zmax) == ((-3.0, 3.0) if diverging else (0.0, 3.0))
    assert np.argwhere(~np.isnan(np.asarray(zeros.z))).tolist() == [[0, 0]]
    assert np.argwhere(~np.isnan(np.asarray(bad.z))).tolist() == [[1, 0], [1, 1], [1, 2]]
    assert [bad.text[1][c] for c in range(3)] == ["nan", "∞", "−∞"]
    assert "non-finite" in bad.customdata[1][0]
    assert "exactly 0" in zeros.customdata[0][0]
    assert bad.colorscale[0][1] == mix(SURFACE[theme], meaning("non_finite").accent(theme), 0.75)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_smallest_value_of_either_sign_is_not_drawn_like_zero(theme):
    middle = [colour for place, colour in diverging_scale(theme) if place == 0.5]
    assert len(set(middle)) == 2
    assert all(contrast(colour, SURFACE[theme]) > 1.15 for colour in middle)


def test_values_are_printed_while_few_and_only_by_the_layer_that_colours_them():
    few = heat_map(DRAW.normal(size=(12, 12)), "light", title="few")
    assert layers(few)[0].text is not None
    assert layers(heat_map(DRAW.normal(size=(13, 2)), "light", title="more"))[0].text is None
    mixed = heat_map(np.array([[0.0, 1.0]]), "light", title="mixed")
    assert [list(trace.text[0]) for trace in layers(mixed)] == [["", "1.00"], ["0", ""]]


def test_non_finite_cells_without_printed_values_carry_a_cross():
    values = DRAW.normal(size=(30, 30))
    values[4, 7] = np.nan
    crosses = [trace for trace in heat_map(values, "dark", title="w").data if trace.type == "scatter"]
    assert [(list(trace.x), list(trace.y)) for trace in crosses] == [([7], [4])]


def test_crosses_on_many_cells_lie_all_over():
    figure = heat_map(np.full((60, 50), np.nan), "light", title="w")
    (crosses,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert 100 < len(crosses.x) <= 400
    assert max(crosses.y) > 55


def test_complex_values_are_drawn_by_magnitude_and_told_with_both_parts():
    figure = heat_map(np.array([[3 - 4j, 0j]]), "light", title="c")
    assert layers(figure)[0].z[0][0] == 5.0
    assert layers(figure)[0].zmin == 0.0
    assert "3.00000−4.00000j" in layers(figure)[0].customdata[0][0]
    assert value_text(1 + 2j) == "1.00+2.00j"


@pytest.mark.parametrize("shape", [(), (5,), (0,), (0, 3), (3, 0), (2, 3, 4), (1, 1)])
def test_any_shape_is_a_matrix(shape):
    matrix = as_matrix(np.zeros(shape))
    assert matrix.ndim == 2
    assert matrix.size == np.prod(shape)
    heat_map(np.zeros(shape), "light", title="t").to_json()


@pytest.mark.parametrize("shape", [(LARGEST_SIDE, LARGEST_SIDE), (LARGEST_SIDE + 1, 3), (2, 1023), (451, 233)])
def test_large_matrices_are_blocks_by_their_largest_magnitude(shape):
    values = DRAW.normal(size=shape)
    drawn = reduce(values)
    assert max(drawn.values.shape) <= LARGEST_SIDE
    assert drawn.is_reduced == (max(shape) > LARGEST_SIDE)
    for r, (top, bottom) in enumerate(drawn.row_ranges):
        for c, (left, right) in enumerate(drawn.column_ranges[:20]):
            block = values[top:bottom, left:right]
            assert drawn.values[r, c] == block.flat[np.abs(block).argmax()]
    title = heat_map(values, "light", title="big").layout.title.text
    assert ("blocks of" in title) == drawn.is_reduced


def test_a_block_with_a_non_finite_element_shows_it():
    values = DRAW.normal(size=(400, 400))
    values[100, 3], values[101, 3], values[399, 399] = np.inf, np.nan, -np.inf
    drawn = reduce(values)
    assert np.isnan(drawn.values[drawn.row_of(101), drawn.column_of(3)])
    assert drawn.values[-1, -1] == -np.inf


def test_marked_cells_are_framed_where_they_are_drawn():
    figure = heat_map(np.ones((400, 2)), "light", title="t", marked=((399, 1), (398, 1), (0, 0)))
    assert [(shape.x0, shape.y0) for shape in figure.layout.shapes] == [(0.5, 198.5), (-0.5, -0.5)]


def test_labels_are_cut_and_nothing_in_them_is_markup():
    figure = heat_map(np.ones((2, 2)), "light", title=HOSTILE, rows=(HOSTILE, "b"), columns=("a", HOSTILE))
    text = figure.to_json()
    assert "<img" not in text
    assert "\\u003cimg" not in text
    assert "$" not in figure.layout.title.text
    assert label_text("a<b") == "a&lt;b"
    assert len(figure.layout.yaxis.ticktext[0]) < 40
    assert "<img" not in histogram([1.0], "light", title=HOSTILE, x_title=HOSTILE).to_json()


def test_a_summary_is_drawn_from_its_values_or_from_its_blocks():
    values = np.array([[1.0, -2.0], [0.0, 4.0]])
    full = summary(values=Array("float64", (2, 2), values.tobytes()))
    assert summary_map(full).tolist() == values.tolist()
    assert layers(summary_heat_map(full, "light", title="w"))[0].zmin == -4.0
    blocks = summary(block_map=Array("float64", (2, 2), np.abs(values).tobytes()), histogram=(1, 0, 3), zeros=7)
    drawn = summary_heat_map(blocks, "light", title="w")
    assert layers(drawn)[0].zmin == 0.0
    assert "largest magnitude" in drawn.layout.title.text
    bars = summary_histogram(blocks, "light", title="w")
    assert list(bars.data[0].y) == [1, 0, 3]
    assert "7 exactly 0" in bars.layout.title.text
    assert summary_map(summary()).size == 0
    assert array(Array("int64", (2,), np.array([3, 4]).tobytes())).tolist() == [3, 4]


def test_a_histogram_counts_every_finite_value_once():
    values = np.concatenate([DRAW.normal(size=500), [np.nan, np.inf, 0.0]])
    figure = histogram(values, "dark", title="h", bins=20)
    assert sum(figure.data[0].y) == 501
    assert "2 not finite" in figure.layout.title.text
    assert "1 exactly 0" in figure.layout.title.text
    expected, edges = np.histogram(values[np.isfinite(values)], 20)
    assert list(figure.data[0].y) == expected.tolist()
    assert np.allclose(figure.data[0].x, (edges[1:] + edges[:-1]) / 2)


@pytest.mark.parametrize("values", [[], [np.nan], [2.0, 2.0], [0.0], [1e300, -1e300], [1 + 1j]])
def test_a_histogram_of_odd_values_is_drawn(values):
    figure = histogram(values, "light", title="odd", log_counts=True)
    finite = [value for value in values if np.isfinite(value)]
    assert sum(sum(trace.y) for trace in figure.data) == len(finite)
    figure.to_json()


@pytest.mark.parametrize("limit", [1e-9, 0.3, 1.0, 7.0, 2831.9, 4e7])
@pytest.mark.parametrize("diverging", [True, False])
def test_maps_side_by_side_share_a_scale_with_round_ticks(limit, diverging):
    few, many = (
        layers(heat_map(np.array([[one, -one]]), "light", title="w", diverging=diverging, limits=limit))[0]
        for one in (limit / 100, limit)
    )
    assert (few.zmin, few.zmax) == (many.zmin, many.zmax) == (-limit if diverging else 0.0, limit)
    ticks = [float(text.replace("−", "-")) for text in many.colorbar.ticktext]
    assert 3 <= len(ticks) <= 7
    assert 0.0 in ticks
    assert ticks == pytest.approx(list(many.colorbar.tickvals))
    assert max(ticks) <= limit * (1 + 1e-9)


def test_the_shared_limit_is_the_largest_finite_magnitude():
    drawn = [summary(values=Array("float64", (1, 2), np.array(row).tobytes())) for row in ([1.0, -4.0], [np.nan, 2.0])]
    assert shared_limits(drawn) == 4.0
    assert shared_limits([]) is None
