"""torchviz's own picture, with its cautions, and never a crash."""

import re
import sys

import pytest

from engine import Fault, run
from engine.graph.classic import crossed_ranks
from engine.graph.experiment import draw_torchviz, price
from engine.graph.spec import ClassicSpec, Edge, Graph, GraphSpec, Node
from engine.models.architecture import Expression, Mlp, Recurrent, TiedLoop
from engine.models.build import Built
from engine.models.spec import ModelSpec
from engine.runner.faults import size


def drawn(architecture=None, toggles=None, **options):
    model = ModelSpec(architecture=architecture or Mlp(), **(toggles or {}))
    return draw_torchviz(ClassicSpec(model=model, **options), lambda stage, fraction: None)


def test_dot_has_torchviz_boxes_and_ids_of_our_own():
    first, second = drawn(), drawn()
    assert first.dot == second.dot
    assert first.dot.startswith("digraph")
    assert "AddmmBackward0" in first.dot
    assert "layers.0.linear.weight" in first.dot
    assert not re.search(r"\d{9,}", first.dot)
    assert first.nodes == 22


def test_attributes_and_saved_tensors_on_request():
    assert "mat1_sym_sizes" in drawn(show_attrs=True).dot
    assert "orange" in drawn(show_saved=True).dot
    assert "orange" not in drawn().dot


def test_large_graphs_are_refused_with_their_count():
    result = drawn(Mlp(layers=60, depth=60), maximum_nodes=300)
    assert result.dot == ""
    assert result.nodes > 300
    assert f"{result.nodes} nodes" in result.cautions[0]


def test_deep_graphs_do_not_recurse_to_death():
    before = sys.getrecursionlimit()
    result = drawn(
        Recurrent(cell="hand_written_lstm", steps=200, width=4), maximum_nodes=5000, maximum_crossed_ranks=10**8
    )
    assert result.error is None
    assert result.dot.count("->") > 3000
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(("steps", "is_drawn"), [(24, True), (60, False)])
def test_a_shared_weight_is_only_drawn_while_dot_can_lay_it_out(steps, is_drawn):
    result = drawn(TiedLoop(steps=steps))
    assert bool(result.dot) == is_drawn
    assert ("ranks" in " ".join(result.cautions)) != is_drawn


def test_crossed_ranks_by_hand():
    """a -> b -> c -> d with a -> d: that edge passes the ranks of b and c; a -> c passes one."""
    nodes = tuple(Node(i, "Op", "operation", i, (), (), (), "", None) for i in range(4))
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]
    graph = Graph.of(nodes=nodes, edges=tuple(Edge(a, 0, b, 0) for a, b in [*pairs, (3, None)]), roots=())
    assert crossed_ranks(graph) == 3


def test_cautions_say_what_the_picture_hides():
    shared = " ".join(drawn(Expression(name="cat_list")).cautions)
    assert "empty slots" in shared
    assert "parallel" in shared
    assert "output 1 or later" in " ".join(drawn(Expression(name="unbind_iter")).cautions)
    kept = drawn(toggles={"checkpoint": "each_block"})
    assert "same as without checkpointing" in " ".join(kept.cautions)
    again = drawn(toggles={"checkpoint": "each_block"}, show_saved=True)
    assert "re-ran the forward" in " ".join(again.cautions)


def test_errors_of_torchviz_and_pytorch_are_told():
    changed = drawn(Expression(name="in_place_after_save"), show_saved=True)
    assert "modified by an inplace operation" in changed.error.message
    assert any("changed in place" in text for text in changed.cautions)
    assert drawn(Expression(name="in_place_after_save")).dot
    broken = drawn(Expression(name="inference_leaf"))
    assert (broken.dot, broken.error.stage) == ("", "forward")
    nothing = drawn(toggles={"grad_mode": "no_grad"})
    assert nothing.nodes == 0
    assert any("no graph" in text for text in nothing.cautions)


@pytest.mark.parametrize("spec", [GraphSpec(), ClassicSpec()], ids=lambda spec: spec.verb)
@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes")]
)
def test_memory_that_ran_out_is_not_shown_as_pytorchs_lesson(monkeypatch, spec, error):
    def out_of_memory(built):
        raise error

    monkeypatch.setattr(Built, "forward", out_of_memory)
    with pytest.raises(Fault) as caught:
        run(spec, inline=True)
    assert caught.value.kind == "memory"
    assert size(price(spec).predicted_bytes) in caught.value.report.what
