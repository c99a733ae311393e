"""Corresponding nodes of two graphs: what was put in, taken out or kept is found again."""

from __future__ import annotations

import itertools
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.alignment import USED, WINDOW, align
from engine.figures.fold import forward_order
from engine.graph.spec import Graph
from tests.figures.graphs import HOSTILE, chain, graph, leaf, node, random_graphs, tied_loop


def without(made: Graph, gone: set[int]) -> tuple[Graph, list[int]]:
    """The graph with nodes taken out and their neighbours joined, and where the others went (-1: nowhere)."""
    kept = [found for found in made.nodes if found.id not in gone]
    place = {found.id: number for number, found in enumerate(kept)}
    after = {
        found.id: [e.target for e in made.edges if e.source == found.id and e.target is not None]
        for found in made.nodes
    }

    def ends(start: int) -> list[int]:
        found, stack = [], list(after[start])
        while stack:
            target = stack.pop()
            found += [target] if target not in gone else []
            stack += after[target] if target in gone else []
        return sorted(set(found))

    edges = [(place[found.id], slot, place[end]) for found in kept for slot, end in enumerate(ends(found.id))]
    nodes = [msgspec.structs.replace(found, id=number) for number, found in enumerate(kept)]
    return graph(nodes, edges, roots=()), [place.get(i, -1) for i in range(len(made.nodes))]


def distinct(count: int) -> Graph:
    """A chain in which every operation has a name of its own."""
    nodes = [node(i, f"Op{'abcdefghij'[i % 10] * (1 + i // 10)}Backward0", sequence=count - i) for i in range(count)]
    return graph(nodes, [(i, 0, i + 1) for i in range(count - 1)])


@given(random_graphs())
def test_a_graph_pairs_with_itself_node_by_node(made):
    found = align(made, made)
    assert sorted(found.pairs) == [(i, i) for i in range(len(made.nodes))]
    assert found.added == found.removed == ()


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_taken_out_nodes_are_the_removed_ones(count, seed):
    made = distinct(count)
    gone = {i for i in range(count) if Random(f"{seed}.{i}").random() < 0.3}
    less, place = without(made, gone)
    found = align(made, less)
    assert set(found.removed) == gone
    assert found.added == ()
    assert set(found.pairs) == {(i, at) for i, at in enumerate(place) if at >= 0}
    back = align(less, made)
    assert set(back.added) == gone
    assert back.removed == ()


@given(random_graphs(), random_graphs())
@settings(deadline=None)
def test_pairs_keep_both_forward_orders_modules_and_operations(first, second):
    found = align(first, second)
    inner_a, inner_b = set(found.order_a), set(found.order_b)
    inner = [(i, j) for i, j in found.pairs if i in inner_a and j in inner_b]
    rank_a, rank_b = forward_order(first), forward_order(second)
    assert all(rank_a[i] < rank_a[k] and rank_b[j] < rank_b[n] for (i, j), (k, n) in itertools.pairwise(inner))
    for i, j in found.pairs:
        one, two = first.nodes[i], second.nodes[j]
        assert (one.name, one.variable) == (two.name, two.variable)
        assert one.module == two.module or one.variable
    assert len({i for i, _ in found.pairs}) == len({j for _, j in found.pairs}) == len(found.pairs)
    assert len(first.nodes) == len(found.pairs) + len(found.removed)
    assert len(second.nodes) == len(found.pairs) + len(found.added)


@given(random_graphs(), random_graphs())
@settings(deadline=None)
def test_either_direction_finds_as_many_pairs_and_again_the_same(first, second):
    there, back = align(first, second), align(second, first)
    assert len(there.pairs) == len(back.pairs)
    assert align(first, second) == there


def longest_common(a, b):
    """Length of the longest common subsequence, by the textbook table."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, two in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if one == two else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=25), st.lists(st.sampled_from("abc"), min_size=1, max_size=25)
)
def test_in_one_module_no_two_alignments_pair_more(first, second):
    made = [
        graph(
            [node(i, f"{word}Backward0", sequence=99 - i) for i, word in enumerate(words)],
            [(i, 0, i + 1) for i in range(len(words) - 1)],
        )
        for words in (first, second)
    ]
    assert len(align(*made).pairs) == longest_common(first[::-1], second[::-1])


def test_shape_and_dtype_choose_between_equal_operations():
    def of(*shapes):
        return graph([node(i, "TBackward0", "m", sequence=99 - i, shape=shape) for i, shape in enumerate(shapes)], [])

    assert align(of((1, 2), (3, 4), (5, 6)), of((3, 4))).pairs == ((1, 0),)
    assert align(of((1, 2), (3, 4), (5, 6)), of((5, 6))).pairs == ((2, 0),)


def test_another_overload_is_the_same_operation():
    first, second = (graph([node(0, name, sequence=0)], []) for name in ("AddBackward0", "AddBackward1"))
    assert align(first, second).pairs == ((0, 0),)


def test_leaves_pair_by_variable_wherever_they_are_used():
    first = graph(
        [node(0, "MulBackward0", "m", sequence=1), leaf(1, "m.w", "m"), leaf(2, "m.v", "m")], [(0, 0, 1), (0, 1, 2)]
    )
    second = graph(
        [node(0, "MulBackward0", "m", sequence=1), leaf(1, "m.v", "k"), leaf(2, "m.u", "m")], [(0, 0, 1), (0, 1, 2)]
    )
    found = align(first, second)
    assert set(found.pairs) == {(0, 0), (2, 1)}
    assert (found.removed, found.added) == ((1,), (2,))


def test_a_module_that_moved_away_has_no_partner():
    first = graph([node(0, "MulBackward0", "layers.2", sequence=1)], [])
    second = graph([node(0, "MulBackward0", "layers.3", sequence=1)], [])
    assert align(first, second).pairs == ()


@pytest.mark.parametrize("count", [WINDOW - 1, WINDOW + 1, 3 * USED + 7, 3000])
def test_long_stretches_pair_across_windows(count):
    plain = chain(count)
    cast = chain(count // 2 * 3, period=("MulBackward0", "ToCopyBackward0", "AddBackward0"))
    found = align(plain, cast)
    assert len(found.pairs) == count // 2 * 2
    assert all(cast.nodes[j].name == "ToCopyBackward0" for j in found.added)


def test_one_more_step_in_a_long_loop_is_only_that_step():
    found = align(tied_loop(400), tied_loop(401))
    assert found.removed == ()
    assert sorted(tied_loop(401).nodes[j].name for j in found.added) == ["MmBackward0", "TBackward0"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_pair_as_any(name):
    made = graph([node(0, name, name, sequence=1), leaf(1, name, name)], [(0, 0, 1)])
    assert len(align(made, made).pairs) == 2


def test_nothing_pairs_with_nothing():
    empty = graph([], [], roots=())
    assert align(empty, empty).pairs == ()
    assert align(empty, chain(3)).added == (2, 1, 0)
