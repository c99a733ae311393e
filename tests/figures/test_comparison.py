"""Two graphs as one picture: nothing lost, nothing on a cycle, everything marked, totals of the real graphs."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.figures.comparison import compare_graphs
from engine.figures.comparison_words import changed_csv, changed_nodes, few_pairs, headline
from engine.figures.fold import addresses, forward_order
from engine.figures.node_changes import node_changes
from engine.figures.scene import build_scene, encode_scene
from engine.figures.view import GraphView
from engine.graph.spec import Graph, GraphSpec
from engine.models.spec import Expression, Gpt, Mlp, ModelSpec, Recurrent, TiedLoop, TwoTower
from tests.figures.graphs import HOSTILE, graph, leaf, linear_relu, node, random_graphs, saved, tied_loop

MODELS = {
    "mlp": ModelSpec(),
    "amp": ModelSpec(autocast="bfloat16"),
    "deeper": ModelSpec(architecture=Mlp(layers=5, depth=5)),
    "frozen": ModelSpec(frozen=("layers.1",)),
    "gpt": ModelSpec(architecture=Gpt(layers=2), checkpoint="each_block"),
    "lstm": ModelSpec(architecture=Recurrent(cell="lstm", steps=20)),
    "tied": ModelSpec(architecture=TiedLoop(steps=5)),
    "towers": ModelSpec(architecture=TwoTower(use_auxiliary_loss=False)),
    "in place": ModelSpec(architecture=Expression(name="in_place_after_save")),
    "nothing": ModelSpec(grad_mode="no_grad"),
}


@cache
def of(name: str) -> Graph:
    return run(GraphSpec(model=MODELS[name], backward=False), inline=True).graph


@given(random_graphs(), random_graphs())
@settings(deadline=None)
def test_the_union_holds_both_and_has_no_cycle(first, second):
    found = compare_graphs(first, second)
    union = found.union.graph
    order = forward_order(union)
    assert len(union.nodes) == len(second.nodes) + len(found.ghosts) == len(found.marks)
    own = [i for i in sorted(range(len(union.nodes)), key=order.__getitem__) if i < len(second.nodes)]
    ranks = forward_order(second)
    inner = [i for i in own if union.nodes[i].sequence_nr is not None]
    assert all(ranks[i] < ranks[k] for i, k in pairwise(inner))
    assert found.union.addresses[: len(second.nodes)] == tuple(addresses(second, ranks))
    assert len(set(found.union.addresses)) == len(found.union.addresses)
    assert tuple(union.edges)[: len(second.edges)] == tuple(second.edges)
    assert [union.nodes[len(second.nodes) + k].name for k in range(len(found.ghosts))] == [
        first.nodes[i].name for i in found.ghosts
    ]


@given(random_graphs(), random_graphs())
@settings(deadline=None)
def test_counts_are_the_same_from_either_side(first, second):
    there, back = compare_graphs(first, second), compare_graphs(second, first)
    assert len(there.ids("added")) == len(back.ids("removed"))
    assert len(there.ids("changed")) == len(back.ids("changed"))
    assert [(t.label, t.a, t.b) for t in there.totals] == [(t.label, t.b, t.a) for t in back.totals]
    assert sum(row.added for row in there.modules) == len(there.ids("added"))
    assert sum(row.removed for row in there.modules) == len(there.ids("removed"))


@given(random_graphs())
@settings(deadline=None)
def test_a_graph_does_not_differ_from_itself(made):
    found = compare_graphs(made, made)
    assert set(found.marks) <= {""}
    assert found.modules == found.ghosts == ()
    assert found.union.gone == found.union.added == frozenset()
    assert found.paired_share == 1.0


@given(random_graphs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_exactly_the_nodes_that_save_something_else_are_changed(made, seed):
    dice = Random(seed)
    touched = {found.id for found in made.nodes if found.saved and dice.random() < 0.5}
    nodes = [
        msgspec.structs.replace(
            found, saved=(msgspec.structs.replace(found.saved[0], dropped=not found.saved[0].dropped),)
        )
        if found.id in touched
        else found
        for found in made.nodes
    ]
    found = compare_graphs(made, Graph.of(nodes, made.edges, made.roots))
    assert set(found.ids("changed")) == touched
    assert all("dropped by checkpoint" in " ".join(found.changes[i]) for i in touched)


@given(random_graphs(), random_graphs(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_picture_shows_ghosts_and_counts_only_real_nodes(first, second, show_removed):
    found = compare_graphs(first, second)
    scene = build_scene(second, GraphView(maximum_boxes=500, show_removed=show_removed), compared=found)
    encode_scene(scene)
    assert scene.nodes_total == len(second.nodes)
    assert scene.nodes_shown <= scene.nodes_total
    assert len(scene.removed) == len(found.ghosts)
    gone = {i for box in scene.boxes for i in scene.ghosts[box.address]}
    assert gone <= set(found.ghosts) if show_removed else not gone
    assert all(i < len(second.nodes) for box in scene.boxes for i in scene.members[box.address])


def test_every_node_of_both_graphs_is_in_the_picture_once_all_is_open():
    first, second = of("mlp"), of("amp")
    found = compare_graphs(second, first)
    scene = build_scene(first, GraphView(expanded=(), maximum_boxes=500), compared=found)
    assert {i for box in scene.boxes for i in scene.ghosts[box.address]} == set(found.ghosts)
    assert {i for box in scene.boxes for i in scene.members[box.address]} == set(range(len(first.nodes)))


def pairs_of_models() -> list[Any]:
    """All pairs: each with itself, with its neighbour, or with a model that shares little always, others if slow."""
    always = {*zip(MODELS, MODELS, strict=True), *pairwise(MODELS), ("mlp", "gpt"), ("gpt", "mlp")}
    pairs = product(MODELS, MODELS)
    return [pair if pair in always else pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs]


@pytest.mark.parametrize(("first", "second"), pairs_of_models())
def test_any_two_models_compare_and_draw(first, second):
    found = compare_graphs(of(first), of(second))
    scene = build_scene(of(second), GraphView(legible_in=(930, 540)), compared=found)
    encode_scene(scene)
    told = headline(found, of(first).saved_bytes, of(second).saved_bytes)
    assert ("no node differs" in told) == (not any(found.marks))
    assert len(changed_nodes(found)) == sum(map(bool, found.marks))
    if first == second:
        assert not any(found.marks)
    if {first, second} == {"mlp", "gpt"}:
        assert "share few" in few_pairs(found)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    made = graph([node(0, name, name, sequence=1, slots=[saved(0, 64, owner=name)]), leaf(1, name, name)], [(0, 0, 1)])
    found = compare_graphs(made, linear_relu())
    scene = build_scene(linear_relu(), compared=found)
    encode_scene(scene)
    assert all(len(word) <= 100 for box in scene.boxes for word in (box.title, *box.lines))
    assert not any(line.startswith(("=", "+", "-", "@")) for line in changed_csv(found).splitlines())


def test_a_cast_in_between_is_added_and_no_edge_is_gone():
    plain = graph([node(0, "MulBackward0", sequence=3), node(1, "SinBackward0", sequence=1)], [(0, 0, 1)])
    cast = graph(
        [
            node(0, "MulBackward0", sequence=3),
            node(1, "ToCopyBackward0", sequence=2),
            node(2, "SinBackward0", sequence=1),
        ],
        [(0, 0, 1), (1, 0, 2)],
    )
    found = compare_graphs(plain, cast)
    assert [found.marks[i] for i in range(3)] == ["", "added", ""]
    assert found.union.gone == frozenset()
    assert compare_graphs(cast, plain).union.gone == {(0, 2), (2, 1)}


def test_a_ghost_saves_nothing_in_the_picture_and_totals_are_the_real_ones():
    a, b = of("mlp"), of("frozen")
    found = compare_graphs(a, b)
    scene = build_scene(b, GraphView(expanded=(), legible_in=None), compared=found)
    assert {t.label: (t.a, t.b) for t in found.totals}["saved bytes"] == (a.saved_bytes, b.saved_bytes)
    assert all(not found.union.graph.nodes[len(b.nodes) + k].saved for k in range(len(found.ghosts)))
    assert scene.nodes_total == len(b.nodes)


def test_words_of_every_kind_of_difference():
    one = node(0, "MulBackward0", slots=[saved(0, 64)], shape=(4, 8))
    slot = saved(0, 64)

    def against(**changes):
        return node_changes(one, msgspec.structs.replace(one, saved=(msgspec.structs.replace(slot, **changes),)))

    assert node_changes(one, one) == ()
    assert against(dropped=True) == ("saved 64 B → 0 B", "self: kept → dropped by checkpoint")
    assert against(dtype="bfloat16", bytes=32, storage_bytes=32) == ("saved 64 B → 32 B", "self: float32 → bfloat16")
    assert against(version_now=1) == ("self: version 0 → 1, saved at 0",)
    assert against(version_saved=3, version_now=3) == ()
    assert against(storage_id=7) == ()
    assert against(owner="x", owner_kind="input") == ("self: a tensor that autograd did not make → x",)
    assert node_changes(one, node(0, "MulBackward0", slots=[saved(0, 64)], shape=(8, 8))) == ("shape 4×8 → 8×8",)
    assert node_changes(one, node(0, "MulBackward1", slots=[saved(0, 64)])) == ("MulBackward0 → MulBackward1",)
    assert node_changes(one, node(0, "MulBackward0")) == ("saved 64 B → 0 B", "self: no longer saved")


def test_one_changed_block_of_many_alike_opens_and_the_others_stay_closed():
    a = run(GraphSpec(model=ModelSpec(architecture=Mlp(layers=12, depth=12)), backward=False), inline=True).graph
    model = ModelSpec(architecture=Mlp(layers=12, depth=12), frozen=("layers.7",))
    b = run(GraphSpec(model=model, backward=False), inline=True).graph
    scene = build_scene(b, compared=compare_graphs(a, b))
    assert "layers.7" in {box.address for box in scene.boxes if box.role == "frame"}
    closed = [box for box in scene.boxes if box.role == "group"]
    assert closed
    assert all(box.lines[-1] == "same as A" and not box.mark for box in closed)


def test_one_step_more_of_a_loop():
    found = compare_graphs(tied_loop(5), tied_loop(6))
    assert headline(found, 0, 0) == "2 nodes added; saved bytes 0 B, as in A"
