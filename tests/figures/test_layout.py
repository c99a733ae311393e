"""Layered drawings: nothing overlaps, everything flows one way, the same input gives the same picture."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.layering import assign_layers
from engine.figures.layout import isotonic, lay_out
from engine.figures.level import Level, Link
from engine.figures.ordering import crossings


@st.composite
def levels(draw, largest=20):
    count = draw(st.integers(1, largest))
    sizes = [(draw(st.integers(10, 250)), draw(st.integers(10, 120))) for _ in range(count)]
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=2 * count))
    links = [Link(*sorted(pair), bundle=min(pair)) for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    unique = {(link.source, link.target): link for link in links}
    return Level(sizes, list(unique.values()), aspect=draw(st.sampled_from([0.0, 1.75])))


def overlapping(level, drawing):
    places = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for x, y, (w, h) in zip(drawing.x, drawing.y, level.sizes, strict=True)
    ]
    return [
        (a, b)
        for (i, a), (j, b) in itertools.combinations(enumerate(places), 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 1e-6 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-6
    ]


@given(levels())
@settings(deadline=None)
def test_nothing_overlaps_and_all_is_inside(level):
    drawing = lay_out(level)
    assert overlapping(level, drawing) == []
    for x, y, (width, height) in zip(drawing.x, drawing.y, level.sizes, strict=True):
        assert x - width / 2 >= -1e-6
        assert x + width / 2 <= drawing.width + 1e-6
        assert y - height / 2 >= -1e-6
        assert y + height / 2 <= drawing.height + 1e-6


@given(levels())
@settings(deadline=None)
def test_edges_go_down_and_curves_join_the_rims(level):
    drawing = lay_out(level)
    for link, curve in zip(level.links, drawing.curves, strict=True):
        assert drawing.layers[link.source] < drawing.layers[link.target]
        if drawing.columns == 1:
            assert drawing.y[link.source] < drawing.y[link.target]
        assert curve[1] == pytest.approx(drawing.y[link.source] + level.sizes[link.source][1] / 2)
        assert curve[-1] == pytest.approx(drawing.y[link.target] - level.sizes[link.target][1] / 2)
        assert abs(curve[-2] - drawing.x[link.target]) <= level.sizes[link.target][0] / 2
        assert len(curve) % 6 == 2


@given(levels())
@settings(deadline=None)
def test_the_same_level_gives_the_same_drawing(level):
    assert lay_out(level) == lay_out(level)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 5)), min_size=1, max_size=20))
def test_isotonic_is_ordered_and_keeps_what_is_ordered(pairs):
    values, weights = zip(*pairs, strict=True)
    fitted = isotonic(values, weights)
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(fitted))
    assert isotonic(sorted(values), weights) == pytest.approx(sorted(values))
    # Weighted means are kept: the condition of the least-squares solution over all pools together.
    mean = sum(v * w for v, w in pairs)
    assert sum(f * w for f, w in zip(fitted, weights, strict=True)) == pytest.approx(mean, abs=1e-6)


def test_longest_path_and_leaf_pull_in():
    # 0 -> 1 -> 2 -> 4, and 3 -> 4: the source 3 stands right above its consumer.
    level = Level([(50, 20)] * 5, [Link(0, 1), Link(1, 2), Link(2, 4), Link(3, 4)])
    assert assign_layers(level, lambda: None) == [0, 1, 2, 2, 3]


def test_crossings_are_counted():
    below = [[(3, 0.0)], [(2, 0.0)], [], []]
    assert crossings([[0, 1], [2, 3]], below, [0, 1, 0, 1]) == 1
    assert crossings([[0, 1], [2, 3]], [[(2, 0.0)], [(3, 0.0)], [], []], [0, 1, 0, 1]) == 0


def test_ordering_takes_out_a_crossing():
    # 0 -> 3 and 1 -> 2 cross when both layers keep their numbering.
    level = Level([(50, 20)] * 4, [Link(0, 3, bundle=0), Link(1, 2, bundle=1)])
    drawing = lay_out(level)
    assert (drawing.x[0] - drawing.x[1]) * (drawing.x[3] - drawing.x[2]) > 0


def test_a_long_chain_is_read_in_columns():
    level = Level([(100, 40)] * 60, [Link(i, i + 1, bundle=i) for i in range(59)], aspect=1.75)
    drawing = lay_out(level)
    assert drawing.columns > 2
    assert 0.8 < drawing.width / drawing.height < 4
    straight = lay_out(Level(level.sizes, level.links))
    assert straight.columns == 1
    assert straight.height > 3 * drawing.height


def test_two_thousand_boxes_in_time():
    links = [
        Link(i, j, bundle=i) for i in range(2000) for j in (i + 1, i + 2) if j < 2000 and (j == i + 1 or i % 3 == 0)
    ]
    level = Level([(120, 50)] * 2000, links, aspect=1.75)
    start = time.thread_time()
    drawing = lay_out(level)
    assert time.thread_time() - start < 3.0  # 0.3 s on an idle core; the bound only catches a wrong complexity
    assert len(drawing.x) == 2000
