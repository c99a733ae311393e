"""Large and dense graphs stay inside limits; the same graph is the same picture in any process; little moves."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys

import msgspec
import pytest

from engine.figures.arrange import arrange
from engine.figures.hierarchy import groups_of
from engine.figures.repeats import FANOUT
from engine.figures.scene import build_scene, encode_scene, prepare
from engine.figures.view import GraphView
from tests.figures.graphs import HOSTILE, chain, graph, node, random_graph
from tests.figures.test_arrange import blocks, inner_places


def dense(count=300, edges=900):
    """Every node uses the next and two further on, in no module."""
    pairs = [(i, slot, i + step) for i in range(count) for slot, step in enumerate((1, 7, 41)) if i + step < count]
    nodes = [node(i, f"Op{i % 11}Backward0", sequence=count - i) for i in range(count)]
    return graph(nodes, pairs[:edges])


def solid(scene):
    return [box for box in scene.boxes if box.role != "frame"]


def overlapping(scene):
    return [
        (a.address, b.address)
        for a, b in itertools.combinations(solid(scene), 2)
        if min(a.x + a.width, b.x + b.width) - max(a.x, b.x) > 0.3
        and min(a.y + a.height, b.y + b.height) - max(a.y, b.y) > 0.3
    ]


@pytest.mark.parametrize(
    "made", [dense(), random_graph(11, 5000), chain(5000, "m")], ids=["dense", "random 5000", "chain 5000"]
)
def test_first_sight_of_a_large_graph_is_a_screenful_without_overlaps(made):
    scene = build_scene(made, GraphView())
    assert 0 < len(solid(scene)) <= max(60, FANOUT)
    assert overlapping(scene) == []
    assert scene.nodes_total == len(made.nodes)


def test_a_dense_graph_opens_up_to_the_ceiling_and_no_further():
    prepared = prepare(dense(), GraphView())
    view = GraphView(expanded=tuple(groups_of(prepared.tree)), ceiling_boxes=120)
    found = arrange(prepared.labels, prepared.tree, view, clock=lambda: 0.0)
    shown = [item for item in found.visible if item.address not in found.opened]
    assert FANOUT < len(shown) <= 120
    assert found.refused > 0
    assert len(found.picture.boxes) == len(shown)


SAME = """
import hashlib
from engine.figures.scene import build_scene, encode_scene
from tests.figures.test_layout_at_scale import hostile
print(hashlib.sha256(encode_scene(build_scene(hostile()))).hexdigest())
"""


def hostile():
    """A graph in modules with hostile names."""
    made = random_graph(5, 90)
    words = {module: HOSTILE[i % len(HOSTILE)] for i, module in enumerate(sorted({n.module for n in made.nodes}))}
    nodes = [msgspec.structs.replace(n, module=words[n.module]) for n in made.nodes]
    return graph(nodes, [(edge.source, edge.output_nr, edge.target) for edge in made.edges])


def test_another_process_with_another_hash_seed_draws_the_same_bytes():
    done = subprocess.run(
        [sys.executable, "-c", SAME],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert done.stdout.strip() == hashlib.sha256(encode_scene(build_scene(hostile()))).hexdigest()


def with_one_more(made, at):
    """The same chain with an operation more before node `at`, as a toggle would record it."""
    count = len(made.nodes)
    more = node(count, "ToCopyBackward0", made.nodes[at].module, sequence=None)
    nodes = [msgspec.structs.replace(n, sequence_nr=2 * (n.sequence_nr or 0)) for n in made.nodes] + [
        msgspec.structs.replace(more, sequence_nr=2 * (made.nodes[at].sequence_nr or 0) - 1)
    ]
    edges = [(i, 0, i + 1) if i != at else (i, 0, count) for i in range(count - 1)]
    return graph(nodes, [*edges, (count, 0, at + 1)])


@pytest.mark.parametrize("at", [2, 17, 31, 58])
def test_one_operation_more_moves_nothing_in_other_frames_and_keeps_the_order_in_its_own(at):
    made = blocks(12, 5)
    view = GraphView(expanded=("blocks", *(f"blocks.{i}" for i in range(12))))
    before, after = inner_places(build_scene(made, view)), inner_places(build_scene(with_one_more(made, at), view))
    changed = made.nodes[at].module
    others = [key for key in before if key[0] not in ("", "blocks", changed)]
    assert len(others) == 55
    assert [key for key in others if after[key] != before[key]] == []
    own = sorted((key for key in before if key[0] == changed), key=lambda key: before[key][1])
    assert own == sorted(own, key=lambda key: after[key][1])
