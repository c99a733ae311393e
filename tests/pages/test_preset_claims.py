"""What the questions of the graph page tell people to notice is what PyTorch records."""

from functools import cache

import msgspec
import pytest

from engine import run
from engine.figures.saved_by_module import bytes_by_path
from engine.graph.spec import GraphSpec, Traced
from engine.models.spec import ModelSpec
from pages.graph.autograd_graph_presets import PRESETS
from pages.graph.numbers_row import key_numbers

MODELS = {preset.question: preset.model for preset in PRESETS}


@cache
def traced(question: str, **changes) -> Traced:
    return run(GraphSpec(model=msgspec.structs.replace(MODELS[question], **changes)), inline=True)


def number(of: Traced, label: str) -> float:
    return next(n.value for n in key_numbers(of) if n.label == label)


def count(of: Traced, name: str) -> int:
    return sum(node.name == name for node in of.graph.nodes)


def reasons(of: Traced) -> dict[str, str]:
    return {leaf.name: leaf.why for leaf in of.leaves}


def test_residual_saves_nothing_but_costs_bytes() -> None:
    question = "What does a residual connection add to the graph?"
    with_it = traced(question)
    plain = msgspec.structs.replace(MODELS[question].architecture, residual=False)
    without = run(GraphSpec(model=ModelSpec(architecture=plain)), inline=True)
    added = count(with_it, "AddBackward0")
    assert added == len(with_it.graph.nodes) - len(without.graph.nodes) == 3
    assert not any(node.saved for node in with_it.graph.nodes if node.name == "AddBackward0")
    assert number(with_it, "Saved bytes") > number(without, "Saved bytes")


def test_grad_is_none_for_every_named_reason() -> None:
    why = reasons(traced("Why is `.grad` None?"))
    assert why["layers.4.linear.weight"] == "unused"
    assert why["layers.2.linear.weight"] == "frozen"
    assert why["layers.0.linear.weight"] == "detached"
    assert why["head.weight"] == ""


def test_checkpointing_keeps_the_shape_and_drops_slots() -> None:
    question = "Checkpointing: where did the saved tensors go?"
    on, off = traced(question), traced(question, checkpoint="off")
    assert [node.name for node in on.graph.nodes] == [node.name for node in off.graph.nodes]
    assert on.graph.edges == off.graph.edges
    assert on.graph.dropped_slots > 0 == off.graph.dropped_slots
    assert number(on, "Saved bytes") < number(off, "Saved bytes")


def test_every_fifth_layer_frees_not_one_byte_beyond_parameters() -> None:
    question = "Why did memory not drop?"
    off, every, segments = (
        number(traced(question, **changes), "Beyond params")
        for changes in ({"checkpoint": "off"}, {}, {"checkpoint": "segments", "checkpoint_segments": 7})
    )
    assert every == off
    assert segments < 0.5 * off


def test_autocast_halves_saved_bytes_and_raises_what_only_backward_keeps() -> None:
    question = "What does mixed precision add?"
    on, off = traced(question), traced(question, autocast="off")
    assert count(on, "ToCopyBackward0") > 0 == count(off, "ToCopyBackward0")
    assert number(on, "Saved bytes") == number(off, "Saved bytes") / 2
    assert number(on, "Beyond params") > number(off, "Beyond params")
    large_on, large_off = traced(question, batch=64), traced(question, batch=64, autocast="off")
    assert number(large_on, "Beyond params") < number(large_off, "Beyond params")


def test_no_grad_cuts_everything_in_front() -> None:
    why = reasons(traced("What does `no_grad` in the middle cut off?"))
    assert why["layers.0.linear.weight"] == why["layers.1.linear.weight"] == "no_grad"
    assert why["layers.2.linear.weight"] == why["layers.3.linear.weight"] == ""


def test_cat_has_a_slot_per_element() -> None:
    of = traced("Which operand sits in which slot?")
    cat = next(node for node in of.graph.nodes if node.name == "CatBackward0")
    targets = [edge.target for edge in of.graph.edges if edge.source == cat.id]
    names = [None if target is None else of.graph.nodes[target].variable for target in targets]
    assert names == ["a", None, "b", "a"]


def test_in_place_write_is_caught_by_its_version() -> None:
    of = traced("Who broke backward with an in-place write?")
    assert of.error is not None
    assert "modified by an inplace operation" in of.error.message
    slot = next(slot for node in of.graph.nodes for slot in node.saved if node.name == "SigmoidBackward0")
    assert (slot.version_saved, slot.version_now) == (0, 1)


def test_tied_weight_is_one_accumulator_reached_by_every_step() -> None:
    of = traced("One weight, many uses: how often is it in the graph?")
    assert count(of, "torch::autograd::AccumulateGrad") == 2
    assert {leaf.uses for leaf in of.leaves if leaf.kind == "parameter"} == {24}


def test_unused_head_gets_none() -> None:
    why = reasons(traced("Which head trains when the loss ignores one?"))
    assert why["auxiliary_head.weight"] == "no_path"


@pytest.mark.slow
def test_two_fifths_of_gpt2_are_views() -> None:
    of = traced("GPT-2 small: what does one forward record?")
    views = sum(node.kind == "view" for node in of.graph.nodes)
    assert 0.35 < views / len(of.graph.nodes) < 0.45


def test_lstm_makes_thirteen_nodes_a_step() -> None:
    of = traced("An LSTM over 200 steps: how deep is its graph?")
    assert 12 < len(of.graph.nodes) / 200 < 14


def test_every_sine_saves_its_input_and_neg_nothing() -> None:
    question = "What is in 100,000 nodes?"
    wanted = MODELS[question].architecture
    assert wanted.operations * 4 * 8 * 4 == 12.8e6  # batch 4, width 8, 4 bytes; 12.2 MiB
    short = msgspec.structs.replace(wanted, operations=3000)
    sine = traced(question, architecture=short)
    neg = traced(question, architecture=msgspec.structs.replace(short, function="neg"))
    assert {sum(slot.bytes for slot in node.saved) for node in sine.graph.nodes if node.name == "SinBackward0"} == {128}
    assert not any(node.saved for node in neg.graph.nodes if node.name == "NegBackward0")
    norms = {leaf.name: leaf.grad_norm for leaf in sine.leaves}
    assert 0 < norms["start.weight"] < 1


def test_the_selected_bias_is_there_and_every_block_doubles_the_ways_to_it() -> None:
    question = "Where does this parameter's gradient come from?"
    preset = next(preset for preset in PRESETS if preset.question == question)
    graph = traced(question).graph
    variable, _, operation = preset.settings["node"].rpartition("/")
    (leaf,) = [node.id for node in graph.nodes if node.variable == variable]
    assert operation == "AccumulateGrad#0"
    assert count_ways(graph, leaf) == 2**3


def count_ways(graph, leaf: int) -> int:
    """Paths from the loss to a leaf, by adding up over every node's consumers."""
    consumers: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.target is not None:
            consumers.setdefault(edge.target, []).append(edge.source)

    @cache
    def ways(node: int) -> int:
        return 1 if node == graph.roots[0].node else sum(ways(user) for user in consumers[node])

    return ways(leaf)


def test_attention_keeps_the_most_until_its_scores_are_gone() -> None:
    question = "Which module keeps the most?"
    explicit = bytes_by_path(traced(question).graph)
    fused = bytes_by_path(
        traced(question, architecture=msgspec.structs.replace(MODELS[question].architecture, attention="sdpa")).graph
    )
    assert most(explicit, "blocks.0") == "blocks.0.attention"
    assert most(fused, "blocks.0").startswith("blocks.0.mlp")


def most(kept, block: str) -> str:
    return max((path for path in kept if path.startswith(block)), key=lambda path: sum(kept[path].values()))


def test_gradients_shrink_towards_the_input_unless_a_residual_hands_them_on() -> None:
    question = "Which layers got the smallest gradients?"
    residual = msgspec.structs.replace(MODELS[question].architecture, residual=True)
    without, with_it = (
        {leaf.name: leaf.grad_norm for leaf in of.leaves}
        for of in (traced(question), traced(question, architecture=residual))
    )
    first, last = "layers.0.linear.weight", "layers.15.linear.weight"
    assert without[last] > 5e4 * without[first]
    assert with_it[last] < 20 * with_it[first]
