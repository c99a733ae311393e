"""Forward order, addresses and folding against a second, plain way to work them out: node by node, row by row."""

from __future__ import annotations

from collections import Counter
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.figures.fold import COPIES, RESHAPES, TRANSPOSES, FoldToggles, LeafUse, fold
from engine.figures.forward import addresses, forward_order, is_leaf
from engine.graph.spec import Graph
from tests.figures.graphs import chain, graph, leaf, linear_relu, node, random_graph, tied_loop


def wanted(made: Graph, number: int) -> tuple[int, int, int]:
    """What the order follows: the node's own number, a leaf's first consumer; then leaves, then the place."""
    one = made.nodes[number]
    if one.sequence_nr is not None and not is_leaf(one):
        return one.sequence_nr, 1, number
    users = [made.nodes[edge.source] for edge in made.edges if edge.target == number]
    known = [user.sequence_nr for user in users if user.sequence_nr is not None and not is_leaf(user)]
    return min(known, default=-1), 0, number


def plain_order(made: Graph) -> list[int]:
    """Again and again the node wanted first among those whose inputs have all been taken; O(n^2)."""
    keys: dict[int, int] = {}
    needs = {number: set() for number in range(len(made.nodes))}
    for edge in made.edges:
        if edge.target is not None:
            needs[edge.source].add(edge.target)
    while len(keys) < len(needs):
        ready = [number for number in needs if number not in keys and needs[number] <= keys.keys()]
        keys[min(ready, key=lambda number: wanted(made, number))] = len(keys)
    return [keys[number] for number in range(len(keys))]


def plain_addresses(made: Graph, keys: list[int]) -> list[str]:
    counts: Counter[str] = Counter()
    found = {}
    for one in sorted(made.nodes, key=lambda one: keys[one.id]):
        name = f"{one.variable if is_leaf(one) else one.module}/{one.name.replace('torch::autograd::', '')}"
        found[one.id] = f"{name}#{counts[name]}"
        counts[name] += 1
    return [found[number] for number in range(len(found))]


def plain_host(made: Graph, number: int, toggles: FoldToggles) -> int:
    """Whose box shows a node: its own, none for a leaf that is used, else that of its only consumer."""
    users = {edge.source for edge in made.edges if edge.target == number}
    one, name = made.nodes[number], made.nodes[number].name.rstrip("0123456789")
    if not users or any(root.node == number for root in made.roots):
        return number
    if is_leaf(one):
        return -1
    folded = [(toggles.transposes, TRANSPOSES), (toggles.views, RESHAPES), (toggles.copies, COPIES)]
    if len(users) == 1 and any(wished and name in names for wished, names in folded):
        return plain_host(made, users.pop(), toggles)
    return number


def plain_slots(made: Graph, number: int, box: int) -> list[int]:
    """The slots of `box` that `number` feeds, through nodes in its label."""
    if number == box:
        return []
    (user,) = {edge.source for edge in made.edges if edge.target == number}
    if user != box:
        return plain_slots(made, user, box)
    return sorted(edge.output_nr for edge in made.edges if edge.target == number)


def renumbered(seed: int, made: Graph) -> Graph:
    """The same graph with sequence numbers that are missing, repeated, or contradict the edges."""
    dice = Random(seed)
    numbers = [None if dice.random() < 0.3 else dice.randint(0, 20) for _ in made.nodes]
    nodes = [msgspec.structs.replace(one, sequence_nr=nr) for one, nr in zip(made.nodes, numbers, strict=True)]
    return Graph.of(nodes, made.edges, made.roots)


SEEDS = st.integers(0, 2**32)
BY_HAND = [linear_relu(), tied_loop(5), chain(12), Graph.of((), ())]
TOGGLES = st.builds(FoldToggles, st.booleans(), st.booleans(), st.booleans(), st.booleans())


@given(SEEDS, st.integers(1, 30))
def test_order_and_addresses_of_random_graphs(seed, count):
    first = random_graph(seed, count)
    for made in (first, renumbered(seed, first)):
        keys = forward_order(made)
        assert keys == plain_order(made)
        assert addresses(made, keys) == plain_addresses(made, keys)


@pytest.mark.parametrize("made", BY_HAND, ids=lambda made: f"{len(made.nodes)} nodes")
def test_order_and_addresses_of_graphs_made_by_hand(made):
    keys = forward_order(made)
    assert keys == plain_order(made)
    assert addresses(made, keys) == plain_addresses(made, keys)


@given(SEEDS, st.integers(1, 30), TOGGLES)
def test_every_node_of_a_random_graph_is_shown_where_it_belongs(seed, count, toggles):
    made = random_graph(seed, count)
    folded = fold(made, toggles)
    hosts = [plain_host(made, number, toggles) for number in range(count)]
    assert list(folded.host) == hosts
    own = [number for number in sorted(range(count), key=folded.keys.__getitem__) if hosts[number] == number]
    assert [box for box in folded.order if box < count] == own
    inside = {
        box: tuple(i for i in sorted(range(count), key=folded.keys.__getitem__) if hosts[i] == box != i) for box in own
    }
    assert folded.absorbed == {box: members for box, members in inside.items() if members}
    to_leaves = [
        (number, edge) for number, edge in enumerate(made.edges) if edge.target is not None and hosts[edge.target] == -1
    ]
    if toggles.leaves:
        assert sum(map(len, folded.leaves.values())) == len(to_leaves)
        for _, edge in to_leaves:
            assert use_of(made, edge, hosts[edge.source]) in folded.leaves[hosts[edge.source]]
    else:
        assert [folded.copies[folded.uses[number]] for number, _ in to_leaves] == [edge.target for _, edge in to_leaves]
        assert set(folded.order) == {*own, *folded.copies}


def use_of(made, edge, box):
    used, user = made.nodes[edge.target], made.nodes[edge.source]
    slots = (edge.output_nr,) if user.id == box else tuple(plain_slots(made, user.id, box))
    kind = "parameter" if "." in used.variable or used.variable.startswith("weight") else "input"
    through = () if user.id == box else (user.name.removesuffix("Backward0"),)
    return LeafUse(used.id, used.variable or "unnamed leaf", kind, through, slots)


def test_a_chain_of_views_is_shown_in_the_box_that_uses_it():
    nodes = [
        node(0, "SumBackward0", sequence=3),
        *(node(i, "ViewBackward0", sequence=3 - i) for i in (1, 2)),
        leaf(3, "w"),
    ]
    folded = fold(graph(nodes, [(0, 0, 1), (1, 0, 2), (2, 0, 3)]))
    assert folded.host == (0, 0, 0, -1)
    assert folded.leaves[0] == (LeafUse(3, "w", "input", ("View",), (0,)),)


def test_a_cycle_is_refused_in_words():
    nodes = [node(i, "MulBackward0", sequence=i) for i in range(3)]
    with pytest.raises(ValueError, match="2 nodes are on one"):
        forward_order(graph(nodes, [(0, 0, 1), (1, 0, 0)], roots=()))
