"""trace_model: real models with their toggles, the leaf table and the module tree."""

import math
import subprocess
import sys

import msgspec
import pytest
import torch

from engine.graph.experiment import price, trace_model
from engine.graph.leaves import gradient_norm
from engine.graph.spec import ClassicSpec, GraphSpec, Traced
from engine.models.architecture import (
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)
from engine.models.spec import ModelSpec
from tests.source_tree import ROOT

SMALL = {
    "mlp": Mlp(),
    "dynamic_block": DynamicBlock(),
    "linear_stack": LinearStack(layers=4, width=16),
    "resnet": ResNet(variant="resnet18", image_size=32),
    "gpt": Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50),
    "gpt_explicit": Gpt(
        layers=2, heads=2, width=16, sequence=8, vocabulary=50, attention="explicit", tie_weights=False
    ),
    "lstm": Recurrent(cell="hand_written_lstm", steps=10, width=8),
    "fused_lstm": Recurrent(cell="lstm", steps=10, width=8),
    "tied_loop": TiedLoop(steps=4, width=8),
    "two_tower": TwoTower(width=8),
}


OFF = [("no_grad", "no_grad"), ("detach", "detached"), ("inference_mode", "inference")]


def traced(architecture=SMALL["mlp"], backward=True, **toggles) -> Traced:
    stages = []
    spec = GraphSpec(model=ModelSpec(architecture=architecture, **toggles), backward=backward)
    result = trace_model(spec, lambda stage, fraction: stages.append(fraction))
    assert stages == sorted(stages)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(result), type=Traced).graph == result.graph
    return result


def leaf(result, name):
    (found,) = [one for one in result.leaves if one.name == name]
    return found


@pytest.mark.parametrize("name", SMALL)
def test_every_architecture_is_traced(name):
    result = traced(SMALL[name])
    graph = result.graph
    assert result.error is None
    assert graph.roots[0].name == "loss"
    assert graph.roots[0].node == 0
    assert graph.saved_bytes == result.held_bytes > 0
    assert result.modules[0].path == ""
    assert result.modules[0].nodes == len(graph.nodes)
    assert all(one.grad_norm is not None for one in result.leaves if one.why == "")
    assert result.parameter_bytes == 4 * result.parameters
    assert not any("/" in node.source.file for node in graph.nodes if node.source)


@pytest.mark.parametrize("name", ["mlp", "linear_stack", "gpt", "tied_loop", "lstm"])
def test_bytes_equal_what_outer_hooks_see(name):
    from engine.graph.held import measure_held_bytes
    from engine.models.build import build

    spec = ModelSpec(architecture=SMALL[name])
    built = build(spec)
    assert traced(SMALL[name]).graph.saved_bytes == measure_held_bytes(lambda: built.loss(built.forward()))


def test_operations_know_module_and_line():
    result = traced()
    for node in result.graph.nodes:
        if node.kind != "leaf" and node.name != "SumBackward0":
            assert node.module.startswith(("layers.", "head"))
            assert node.source.file in ("mlp.py",)


@pytest.mark.parametrize("name", ["mlp", "linear_stack", "gpt", "resnet"])
def test_checkpoint_drops_slots_and_holds_fewer_bytes(name):
    plain, kept = traced(SMALL[name], batch=32), traced(SMALL[name], batch=32, checkpoint="each_block")
    assert plain.graph.dropped_slots == 0
    assert kept.graph.dropped_slots > 0
    assert kept.held_bytes < plain.held_bytes
    assert kept.graph.saved_bytes <= kept.held_bytes
    assert len(kept.graph.nodes) == len(plain.graph.nodes)
    for before, after in zip(plain.leaves, kept.leaves, strict=True):
        assert before.grad_norm == pytest.approx(after.grad_norm, nan_ok=True)


def test_checkpoint_in_segments_and_every_k():
    stack = LinearStack(layers=6, width=16)
    for toggles in ({"checkpoint": "segments"}, {"checkpoint": "every_k", "checkpoint_k": 2}):
        assert traced(stack, **toggles).graph.dropped_slots > 0


def test_reentrant_checkpoint_loses_gradients_unless_an_input_requires_one():
    lost = traced(checkpoint="each_block", use_reentrant=True)
    assert any("None of the inputs have requires_grad=True" in text for text in lost.warnings)
    weight = leaf(lost, "layers.0.linear.weight")
    assert (weight.why, weight.grad_norm) == ("no_grad", None)
    assert "reentrant" in weight.explanation
    assert leaf(lost, "head.weight").why == ""
    kept = traced(checkpoint="each_block", use_reentrant=True, input_requires_grad=True)
    assert kept.warnings == ()
    assert leaf(kept, "layers.0.linear.weight").grad_norm > 0
    assert "recomputed" in leaf(kept, "layers.0.linear.weight").explanation
    assert [node.kind for node in kept.graph.nodes].count("checkpoint") == 3


def test_reentrant_checkpoint_is_not_blamed_for_what_it_did_not_do():
    result = traced(SMALL["two_tower"], checkpoint="each_block", use_reentrant=True)
    auxiliary = [one for one in result.leaves if "auxiliary" in one.name]
    assert {one.why for one in auxiliary} == {"no_path"}


def test_autocast_adds_casts():
    plain, cast = traced(), traced(autocast="bfloat16")
    assert not any(node.name.startswith("ToCopy") for node in plain.graph.nodes)
    assert sum(node.name == "ToCopyBackward0" for node in cast.graph.nodes) > 4
    assert leaf(cast, "head.weight").grad_dtype == "float32"


@pytest.mark.parametrize(
    ("mode", "why"), [("no_grad", "no_grad"), ("detach", "detached"), ("inference_mode", "inference")]
)
def test_a_block_off_the_graph_cuts_everything_before_it(mode, why):
    result = traced(Mlp(layers=3, depth=3), grad_mode=mode, grad_mode_block=1)
    if mode == "inference_mode":
        assert result.error.stage == "forward"  # inference tensors cannot be saved by the next block
        assert "Inference tensors cannot be saved for backward" in result.error.message
    for path in ("layers.0.linear.weight", "layers.1.linear.bias"):
        one = leaf(result, path)
        assert (one.why, one.grad_norm) == (why, None)
        assert "block 1 (layers.1)" in one.explanation
    if result.error is None:
        assert leaf(result, "layers.2.linear.weight").why == ""
        assert not any(node.variable.startswith(("layers.0", "layers.1")) for node in result.graph.nodes)


@pytest.mark.parametrize(
    ("mode", "why"), [("no_grad", "no_grad"), ("detach", "detached"), ("inference_mode", "inference")]
)
def test_a_whole_forward_off_the_graph(mode, why):
    result = traced(grad_mode=mode)
    assert result.graph.nodes == ()
    assert result.graph.roots[0].note
    assert result.error.stage == "backward"
    assert {one.why for one in result.leaves if one.kind == "parameter"} == {why}
    assert leaf(result, "head.weight").explanation.startswith("the whole forward")


def test_frozen_unused_and_not_run():
    frozen = traced(frozen=("layers.0",))
    assert leaf(frozen, "layers.0.linear.weight").why == "frozen"
    assert leaf(frozen, "layers.1.linear.weight").why == ""
    unused = traced(Mlp(layers=4, depth=2))
    assert leaf(unused, "layers.3.linear.weight").why == "unused"
    assert "layers.3.linear" in leaf(unused, "layers.3.linear.weight").explanation
    assert {one.path: one.calls for one in unused.modules}["layers.3"] == 0
    asleep = traced(backward=False)
    assert {one.why for one in asleep.leaves if one.requires_grad} == {"not_run"}
    assert asleep.error is None


def test_a_head_outside_of_the_loss_has_no_path():
    result = traced(SMALL["two_tower"])
    found = {one.name: one.why for one in result.leaves if one.kind == "parameter"}
    assert {why for name, why in found.items() if "auxiliary" in name} == {"no_path"}
    assert {root.name for root in result.graph.roots} == {"loss", "output['logits']", "output['auxiliary']"}
    used = traced(TwoTower(width=8, use_auxiliary_loss=True))
    assert {one.why for one in used.leaves if one.kind == "parameter"} == {""}


def test_integer_and_plain_inputs():
    ids = traced(SMALL["gpt"]).leaves[-1]
    assert (ids.kind, ids.why) == ("input", "frozen")
    assert "int64" in ids.explanation
    x = leaf(traced(input_requires_grad=True), "x")
    assert (x.why, x.uses) == ("", 1)


def test_tied_weights_count_their_uses():
    result = traced(TiedLoop(steps=5, width=8))
    weight = next(one for one in result.leaves if one.name.endswith("weight"))
    assert weight.uses == 5
    assert "sum over all uses" in weight.explanation


def test_sparse_gradient():
    result = traced(Embedding(vocabulary=20, width=4, tokens=6, sparse=True), batch=1)
    table = next(one for one in result.leaves if one.grad_layout == "sparse_coo")
    dense = traced(Embedding(vocabulary=20, width=4, tokens=6), batch=1)
    assert table.grad_norm == pytest.approx(leaf(dense, table.name).grad_norm)


def expression(name):
    return traced(Expression(name=name))


def test_not_a_leaf_names_the_operation():
    one = leaf(expression("to_double"), "x_double")
    assert (one.why, one.is_leaf, one.grad_norm) == ("not_leaf", False, None)
    assert "ToCopyBackward0" in one.explanation


def test_unused_row_has_no_consumer():
    result = expression("unbind_iter")
    assert [leaf(result, name).uses for name in "pqr"] == [1, 0, 1]
    assert leaf(result, "m").grad_norm == pytest.approx(math.sqrt(2 * 2**2 + 2 * 5**2))  # p and r swap places


def test_in_place_error_is_the_lesson_and_the_graph_is_still_there():
    result = expression("in_place_after_save")
    assert result.error.stage == "backward"
    assert "is at version 1; expected version 0" in result.error.message
    (wrong,) = [s for n in result.graph.nodes for s in n.saved if s.version_saved != s.version_now]
    assert (wrong.version_saved, wrong.version_now) == (0, 1)
    assert leaf(result, "x").why == "error"


def test_inference_tensor_error_keeps_the_leaf_table():
    result = expression("inference_leaf")
    assert (result.error.stage, result.loss, result.held_bytes) == ("forward", None, None)
    assert leaf(result, "w").why == "inference"
    assert leaf(result, "x").why == "error"


def test_nan_and_complex_gradients_have_a_norm():
    assert math.isnan(leaf(expression("where_sqrt"), "x").grad_norm)
    assert leaf(expression("complex_abs2"), "z").grad_norm > 0


GRADIENTS = {
    "large": torch.linspace(-1, 3, 210_003).view(3, 70_001),
    "strided": torch.linspace(-1, 3, 400_000).view(1000, 400).t(),
    "bfloat16": torch.full((100_000,), 0.1, dtype=torch.bfloat16),
    "complex": torch.complex(torch.linspace(0, 1, 70_000), torch.linspace(2, 1, 70_000)),
    "tiny_float64": torch.full((3,), 1e-150, dtype=torch.float64),
    "beyond_float32": torch.full((200_000,), 3e38),
    "inf": torch.cat([torch.ones(70_000), torch.tensor([math.inf])]),
    "nan": torch.cat([torch.ones(70_000), torch.tensor([math.nan])]),
    "empty": torch.ones(0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradients_norm_is_taken_in_double_precision(name):
    gradient = GRADIENTS[name]
    wide = gradient.to(torch.complex128 if gradient.is_complex() else torch.float64)
    assert gradient_norm(gradient) == pytest.approx(
        float(torch.linalg.vector_norm(wide)), rel=1e-12, abs=0, nan_ok=True
    )


PEAK_OF_A_NORM = """
import resource, torch
from engine.graph.leaves import gradient_norm
gradient = torch.ones(2**24)
gradient_norm(gradient[:100_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert gradient_norm(gradient) == 2**12
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts KiB only on Linux")
def test_a_gradients_norm_needs_no_double_precision_copy_of_it():
    ran = subprocess.run([sys.executable, "-c", PEAK_OF_A_NORM], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 2**24 * 8 / 1024 / 4  # KiB; a quarter of that copy


@pytest.mark.parametrize(
    "name", ["custom_function", "grad_of_grad", "view_write", "cat_list", "slice_chain", "python_loop"]
)
def test_expressions_have_gradients_for_their_leaves(name):
    result = expression(name)
    assert result.error is None
    assert all(one.why == "" for one in result.leaves if one.requires_grad and one.is_leaf)


def test_bfloat16_and_float64_models():
    for dtype in ("bfloat16", "float64"):
        result = traced(dtype=dtype)
        assert leaf(result, "head.weight").grad_dtype == dtype
        assert leaf(result, "head.weight").grad_norm > 0


def test_the_same_spec_gives_the_same_graph():
    first, second = traced(SMALL["gpt"]), traced(SMALL["gpt"])
    assert first.leaves == second.leaves
    assert first.graph.edges == second.graph.edges
    assert [n.saved for n in first.graph.nodes] == [n.saved for n in second.graph.nodes]


def test_price_is_that_of_the_model():
    small, large = (GraphSpec(model=ModelSpec(architecture=LinearStack(layers=50, width=w))) for w in (16, 4096))
    assert price(small).predicted_bytes < price(large).predicted_bytes
    assert price(ClassicSpec(model=small.model)) == price(small)


@pytest.mark.slow
def test_recurrent_models_of_thousands_of_steps_are_traced_and_freed():
    result = traced(Recurrent(cell="hand_written_lstm", steps=2000, width=4))
    assert len(result.graph.nodes) > 25_000
    assert result.error is None
