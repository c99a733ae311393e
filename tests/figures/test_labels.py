"""Words of groups: numbers that tell them apart stay whole, counts cannot be added up by mistake."""

from __future__ import annotations

import pytest

from engine.figures.box_words import title_room
from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from tests.figures.graphs import chain, graph, leaf, node

DEJAVU_BOLD_DIGIT_PIXELS = 13 * 0.696
"""Advance of a digit of DejaVu Sans Bold, the widest of the fonts the app falls back on, at the size of a title."""


def groups(made, **view):
    return [box for box in build_scene(made, GraphView(**view)).boxes if box.role == "group"]


def test_a_chunk_has_room_for_the_numbers_it_is_told_apart_by():
    found = [box for box in groups(chain(20_000), maximum_boxes=60) if "–" in box.title]
    assert found
    for box in found:
        digits = sum(map(str.isdigit, box.title))
        # A canvas title begins 25 pixels in and leaves 23 for the chevron.
        assert box.width - 48 >= digits * DEJAVU_BOLD_DIGIT_PIXELS + (len(box.title) - digits) * 7
        assert "…" not in box.title


def test_digits_need_more_room_than_letters():
    assert title_room("12345") > title_room("abcde")


@pytest.mark.parametrize(("leaves", "words"), [(0, "3 nodes"), (1, "4 nodes (1 leaf)"), (2, "5 nodes (2 leaves)")])
def test_leaves_are_told_as_a_part_of_the_nodes(leaves, words):
    nodes = [node(i, "MulBackward0", "m", sequence=3 - i) for i in range(3)]
    made = graph(
        [*nodes, *(leaf(3 + i, f"m.w{i}", "m") for i in range(leaves))],
        [(0, 0, 1), (1, 0, 2), *((i, 1, 3 + i) for i in range(leaves))],
    )
    [box] = groups(made, expanded=())
    assert box.lines[0] == words
