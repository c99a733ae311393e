"""Groups: module calls, repeats, chunks; whatever is closed can be opened."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.fold import addresses, fold
from engine.figures.hierarchy import groups_of
from engine.figures.opening import expand_automatically, expand_named
from engine.figures.repeats import FANOUT, build_tree
from tests.figures.graphs import chain, graph, node, random_graphs, tied_loop

OPERATIONS = tuple(f"Op{i}Backward0" for i in range(97))


def straight(names, modules):
    """A chain, loss first; `modules` in the same order."""
    count = len(modules)
    nodes = [node(i, names[i % len(names)], module, sequence=count - i) for i, module in enumerate(modules)]
    return graph(nodes, [(i, 0, i + 1) for i in range(count - 1)])


def tree(made, budget=60):
    folded = fold(made)
    names = addresses(made, folded.keys)
    return build_tree(folded.order, [n.module for n in made.nodes], [n.name for n in made.nodes], names, budget)


def everything(root):
    items, stack = [], [root]
    while stack:
        items.append(stack.pop())
        stack.extend(items[-1].children)
    return items


def test_modules_nest_and_a_second_call_is_a_group_of_its_own():
    # Forward: a.x, a.y, b, a.x again; node 0 is the last.
    modules = ["a.x", "a.x", "b", "a.y", "a.x", "a.x"]
    made = graph(
        [node(i, "MulBackward0", m, sequence=9 - i) for i, m in enumerate(modules)], [(i, 0, i + 1) for i in range(5)]
    )
    root = tree(made)
    assert [child.address for child in root.children] == ["a", "b/MulBackward0#0", "a.x@1"]
    assert [child.address for child in root.children[0].children] == ["a.x", "a.y/MulBackward0#0"]
    assert root.children[2].title == "a.x"


def test_a_module_with_one_box_is_that_box():
    made = graph(
        [node(0, "ReluBackward0", "act", sequence=1), node(1, "MulBackward0", "mul.inner", sequence=0)], [(0, 0, 1)]
    )
    assert [child.role for child in tree(made).children] == ["node", "node"]


def test_a_loop_inside_one_module_becomes_repeats():
    steps = ("AddmmBackward0", "TanhBackward0", "MulBackward0")
    root = tree(chain(600, "cell", steps))
    assert [(item.address, item.title, item.size) for item in root.children] == [
        ("cell", "cell: 200 × Mul → Tanh → Addmm", 600)
    ]
    inner = sorted((i for i in everything(root) if i.role == "step"), key=lambda item: item.first)
    assert [(step.title, step.size) for step in inner] == [(f"step {i}", 3) for i in range(200)]


@pytest.mark.parametrize("length", [61, 100, 999, 12_000])
@pytest.mark.parametrize("period", [OPERATIONS[:1], OPERATIONS[:2], OPERATIONS])
def test_no_group_of_a_large_graph_opens_onto_more_than_a_screenful(length, period):
    root = tree(chain(length, "m", period))
    assert max(len(item.children) for item in everything(root)) <= FANOUT
    assert root.size == length


@given(random_graphs(60), st.integers(1, 80))
@settings(deadline=None)
def test_items_are_nested_intervals_of_the_forward_order(made, budget):
    root = tree(made, budget)
    for item in everything(root):
        if item.children:
            assert [child.first for child in item.children[1:]] == [child.last for child in item.children[:-1]]
            assert (item.children[0].first, item.children[-1].last) == (item.first, item.last)
        else:
            assert item.role == "node"
    names = [item.address for item in everything(root)]
    assert len(set(names)) == len(names)


@given(random_graphs(60), st.integers(1, 80))
@settings(deadline=None)
def test_automatic_opening_stays_within_the_budget(made, budget):
    root = tree(made, budget)
    opened = expand_automatically(root, budget)
    visible = [i for i in everything(root) if i is not root and (i.address not in opened)]
    parents = {child.address: item for item in everything(root) for child in item.children}
    shown = [i for i in visible if parents[i.address] is root or parents[i.address].address in opened]
    assert len(shown) <= max(budget, len(root.children))


@given(random_graphs(60))
@settings(deadline=None)
def test_every_group_can_be_opened_by_name_with_all_around_it(made):
    root = tree(made, 1)
    for address in groups_of(root):
        opened, refused = expand_named(root, [address], 10_000)
        assert address in opened
        assert refused == 0


def test_the_latest_request_wins_when_not_all_fit():
    root = tree(tied_loop(300))
    groups = list(groups_of(root))
    opened, refused = expand_named(root, groups, 60)
    assert groups[-1] in opened
    assert refused > 0
    assert expand_named(root, ["nothing like it", ""], 60) == (frozenset(), 0)


def test_alike_groups_open_together_or_the_first_as_an_example():
    made = straight(OPERATIONS[:5], [f"blocks.{11 - i // 5}" for i in range(60)])
    root = tree(made)
    (blocks,) = root.children
    assert [child.size for child in blocks.children] == [5] * 12
    assert expand_automatically(root, 60) == {"blocks"} | {f"blocks.{i}" for i in range(12)}
    assert expand_automatically(root, 20) == {"blocks", "blocks.0"}


def test_a_stack_of_like_blocks_is_one_box_that_says_how_many():
    made = straight(OPERATIONS[:5], [f"blocks.{11 - i // 5}" for i in range(60)])
    (whole,) = tree(made, budget=20).children
    assert (whole.address, whole.title, whole.typed) == ("blocks", "12 × blocks.#", "blocks.0")
    assert [child.address for child in whole.children] == [f"blocks.{i}" for i in range(12)]


def test_like_blocks_after_another_one_are_one_box_beside_it():
    # blocks.0 has six operations, blocks.1 to blocks.11 five each.
    names = [OPERATIONS[i % 5] for i in range(55)] + list(OPERATIONS[:6])
    made = straight(names, [f"blocks.{11 - i // 5}" for i in range(55)] + ["blocks.0"] * 6)
    (whole,) = tree(made, budget=20).children
    assert [child.title for child in whole.children] == ["0", "11 × blocks.#"]


@pytest.mark.parametrize("steps", [4, 40, 1000])
def test_time_steps_are_counted_from_0_in_forward_order(steps):
    made = chain(20 * steps, "cell", tuple(f"Op{i}Backward0" for i in range(20)))
    found = sorted((i for i in everything(tree(made)) if i.role == "step"), key=lambda item: item.first)
    assert [(item.title, item.first) for item in found] == [(f"step {i}", 20 * i) for i in range(steps)]


def test_layers_in_a_row_are_repeats_and_not_time_steps():
    modules = [f"stack.{i}" for i in range(200)]
    made = straight(OPERATIONS[:2], modules)
    titles = {item.title for item in everything(tree(made)) if item.role == "step"}
    assert "repeat 0" in titles
    assert "step 0" not in titles


@given(random_graphs(60), st.integers(1, 80))
@settings(deadline=None)
def test_no_group_opens_onto_a_single_thing(made, budget):
    root = tree(made, budget)
    assert [item.address for item in everything(root) if len(item.kids) == 1 and item is not root] == []
