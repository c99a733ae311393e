"""What run B has and run A has not."""

from __future__ import annotations

from hypothesis import given

from engine.figures.difference import difference, removed_per_group
from engine.figures.fold import addresses, forward_order
from tests.figures.graphs import graph, linear_relu, node, random_graphs


def plain():
    return graph([node(0, "SumBackward0", sequence=1), node(1, "MulBackward0", "m.a", sequence=0)], [(0, 0, 1)])


def residual():
    nodes = [
        node(0, "SumBackward0", sequence=2),
        node(1, "AddBackward0", "m", sequence=1),
        node(2, "MulBackward0", "m.a", sequence=0),
    ]
    return graph(nodes, [(0, 0, 1), (1, 0, 2), (1, 1, 2)])


def test_an_added_residual():
    assert difference(plain(), residual()).added == ("m/AddBackward0#0",)
    assert difference(plain(), residual()).removed == ()
    assert difference(residual(), plain()).removed == ("m/AddBackward0#0",)


def test_removed_nodes_are_told_at_every_module_around_them():
    made = plain()
    found = removed_per_group(made, residual(), addresses(made, forward_order(made)))
    assert found == {"": ("m/AddBackward0#0",), "m": ("m/AddBackward0#0",)}
    assert removed_per_group(made, None, []) == {}


@given(random_graphs(), random_graphs())
def test_difference_is_antisymmetric_and_nothing_for_equals(first, second):
    there, back = difference(first, second), difference(second, first)
    assert (there.added, there.removed) == (back.removed, back.added)
    assert difference(first, first).added == difference(first, first).removed == ()
    assert len(first.nodes) - len(there.removed) == len(second.nodes) - len(there.added)


def test_leaves_count_too():
    assert set(difference(plain(), linear_relu()).added) >= {"lin.bias/AccumulateGrad#0", "lin.weight/AccumulateGrad#0"}
