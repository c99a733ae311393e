"""Folding against graphs whose result was worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given

from engine.figures.fold import FoldToggles, addresses, fold, forward_order
from tests.figures.graphs import chain, graph, linear_relu, node, random_graphs, tied_loop


def test_linear_relu_folds_into_three_boxes():
    folded = fold(linear_relu())
    assert folded.order == (2, 1, 0)
    assert folded.absorbed == {2: (4,)}
    assert [(use.node, use.name, use.through) for use in folded.leaves[2]] == [
        (3, "lin.bias", ()),
        (5, "lin.weight", ("T",)),
    ]


def test_unfolded_everything_has_a_box():
    folded = fold(linear_relu(), FoldToggles(leaves=False, transposes=False, views=False))
    shown = [folded.copies.get(box, box) for box in folded.order]
    assert sorted(shown) == [0, 1, 2, 3, 4, 5]
    assert shown.index(5) < shown.index(4) < shown.index(2) < shown.index(1) < shown.index(0)


def test_a_weight_used_often_has_one_marker_per_use():
    folded = fold(tied_loop(6))
    assert [len(folded.leaves[box]) for box in folded.order if box in folded.leaves] == [1] * 6
    as_boxes = fold(tied_loop(6), FoldToggles(leaves=False))
    assert list(as_boxes.copies.values()) == [13] * 6


def test_a_view_with_two_consumers_and_a_root_keep_their_boxes():
    shared = graph(
        [
            node(i, n, sequence=9 - i)
            for i, n in enumerate(["AddBackward0", "MulBackward0", "ViewBackward0", "ExpBackward0"])
        ],
        [(0, 0, 1), (0, 1, 2), (1, 0, 2), (2, 0, 3)],
    )
    assert 2 in fold(shared).order
    root = graph([node(0, "TBackward0", sequence=1), node(1, "MulBackward0", sequence=0)], [(0, 0, 1)])
    assert fold(root).order == (1, 0)


def test_both_operands_of_one_node_may_be_the_same_view():
    square = graph([node(0, "MulBackward0", sequence=1), node(1, "ViewBackward0", sequence=0)], [(0, 0, 1), (0, 1, 1)])
    assert fold(square).order == (0,)


def test_copies_fold_only_when_asked():
    cast = graph([node(0, "MmBackward0", sequence=1), node(1, "ToCopyBackward0", sequence=0)], [(0, 0, 1)])
    assert fold(cast).order == (1, 0)
    assert fold(cast, FoldToggles(copies=True)).order == (0,)


def test_a_cycle_is_refused_in_words():
    knot = graph([node(0, "AddBackward0"), node(1, "MulBackward0")], [(0, 0, 1), (1, 0, 0)])
    with pytest.raises(ValueError, match="2 nodes are on one"):
        fold(knot)


def test_no_recursion_on_long_chains():
    assert len(fold(chain(50_000)).order) == 50_000


@given(random_graphs())
def test_order_follows_the_forward_and_nothing_is_lost(made):
    keys = forward_order(made)
    assert sorted(keys) == list(range(len(made.nodes)))
    assert all(keys[edge.target] < keys[edge.source] for edge in made.edges if edge.target is not None)
    folded = fold(made)
    shown = set(folded.order) | {n for group in folded.absorbed.values() for n in group}
    shown |= {use.node for uses in folded.leaves.values() for use in uses}
    assert shown == set(range(len(made.nodes)))


@given(random_graphs())
def test_addresses_are_unique_and_stable(made):
    names = addresses(made, forward_order(made))
    assert len(set(names)) == len(names)
    assert names == addresses(made, forward_order(made))


def test_addresses_say_module_operation_and_occurrence():
    names = addresses(linear_relu(), forward_order(linear_relu()))
    assert names == [
        "/SumBackward0#0",
        "act/ReluBackward0#0",
        "lin/AddmmBackward0#0",
        "lin.bias/AccumulateGrad#0",
        "lin/TBackward0#0",
        "lin.weight/AccumulateGrad#0",
    ]
