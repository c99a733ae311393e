"""Every trace against a second way of knowing: torch.autograd.grad(allow_unused=True), .grad itself, retain_grad()."""

from __future__ import annotations

import pytest
import torch

from engine.diagnostics.catalogue import NAMES, PROGRAMS
from engine.diagnostics.spec import DiagnosisSpec, Fault
from engine.models.build import build
from engine.models.spec import (
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    TiedLoop,
    TwoTower,
)
from tests.diagnostics.diagnosing import deciding, diagnose, program, tensor

GPT = Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50)
MODELS = [
    *(
        ModelSpec(architecture=a)
        for a in (Mlp(layers=4, depth=2), DynamicBlock(use_skip=False), TwoTower(), TiedLoop())
    ),
    *(ModelSpec(architecture=a) for a in (GPT, Embedding(), Recurrent(steps=3), ConvNet(layers=2), Expression())),
    ModelSpec(architecture=LinearStack(layers=3, width=8), frozen=("blocks.0",)),
    ModelSpec(architecture=Mlp(), input_requires_grad=True, checkpoint="each_block"),
    *(ModelSpec(architecture=Mlp(), grad_mode=mode, grad_mode_block=1) for mode in ("no_grad", "detach")),
    ModelSpec(architecture=GPT, checkpoint="each_block", use_reentrant=True),
]


def label(model):
    return f"{type(model.architecture).__name__}-{model.grad_mode}-{model.checkpoint}"


@pytest.mark.parametrize("model", MODELS, ids=label)
def test_state_and_norm_of_every_leaf_are_those_of_its_grad(model):
    found, built = diagnose(DiagnosisSpec(model=model)), build(model)
    built.loss(built.forward()).backward()
    leaves = dict(built.model.named_parameters()) | built.inputs
    for name, leaf in leaves.items():
        watched = tensor(found, name)
        if leaf.grad is None:
            assert watched.state == ("none" if leaf.requires_grad else "not_asked"), name
            assert watched.grad is None
        else:
            dense = leaf.grad.to_dense().detach()
            assert watched.state == ("gradient" if dense.any() else "zero"), name
            assert watched.grad.norm == pytest.approx(float(torch.linalg.vector_norm(dense)), rel=1e-5)
        assert sum(step.decides for step in watched.steps) <= 1


@pytest.mark.parametrize("model", [one for one in MODELS if not one.use_reentrant], ids=label)
def test_no_path_is_what_autograd_grad_calls_unused(model):
    found, built = diagnose(DiagnosisSpec(model=model)), build(model)
    leaves = {name: one for name, one in built.model.named_parameters() if one.requires_grad}
    if not leaves:
        return
    given = torch.autograd.grad(built.loss(built.forward()), list(leaves.values()), allow_unused=True)
    unused = {name for name, gradient in zip(leaves, given, strict=True) if gradient is None}
    assert set(found.unused) == unused
    for name in leaves:
        path = next(step for step in tensor(found, name).steps if "path" in step.question)
        assert (path.answer == "no") == (name in unused), name


def test_what_passed_through_a_module_is_what_retain_grad_keeps():
    model = ModelSpec(architecture=GPT)
    without, kept = (diagnose(DiagnosisSpec(model=model, retain_grad=r)) for r in (False, True))
    outputs = [one for one in without.watched if one.kind == "intermediate"]
    assert len(outputs) > 10
    for one in outputs:
        assert (one.state, one.grad) == ("passes", None)
        assert one.passed == tensor(kept, one.name).grad, one.name


CUTS = {
    "rewrapped_tensor": ("w", "torch.tensor copies the values", 3),
    "item_in_the_middle": ("w", "a Python float", 3),
    "through_numpy": ("w", "Tensor.detach took grad_fn MulBackward0", 3),
    "argmax_path": ("w", "int64 values have no derivative", 3),
    "detached_middle": ("encoder.weight", "Tensor.detach took grad_fn TanhBackward0", 6),
    "module_under_no_grad": ("0.weight", "torch.no_grad()", 5),
    "unused_output": ("auxiliary.weight", "the loss does not use that", 6),
    "reentrant_checkpoint": ("weight", "CheckpointFunction.forward", 4),
}


@pytest.mark.parametrize("name", CUTS)
def test_the_cut_is_found_with_its_line_as_shown(name):
    leaf, words, line = CUTS[name]
    watched = tensor(program(name), leaf)
    assert watched.state == "none"
    assert words in deciding(watched)
    step = next(step for step in watched.steps if step.decides)
    assert (step.source.file, step.source.line) == ("program", line)


ZEROS = {
    "dead_relu": ("0.weight", "ReluBackward0"),
    "saturated_sigmoid": ("w", "SigmoidBackward0"),
    "multiplied_by_zero": ("w", "MulBackward0"),
    "rounded": ("w", "RoundBackward0"),
    "batch_norm_sum": ("x", "NativeBatchNormBackward0"),
    "hook_that_zeroes": ("w", "a tensor hook"),
}


@pytest.mark.parametrize("name", ZEROS)
def test_the_node_that_made_a_gradient_zero_is_named(name):
    leaf, node = ZEROS[name]
    watched = tensor(program(name), leaf)
    assert watched.state == "zero"
    assert node in deciding(watched)


@pytest.mark.parametrize("name", [name for name in NAMES if PROGRAMS[name].fix])
def test_a_mended_program_has_every_gradient_it_asks_for(name):
    mended = program(name, mended=True)
    assert mended.error is None
    leaves = [one for one in mended.watched if one.is_leaf and one.requires_grad]
    expected = {"zero"} if name in ("norm_at_zero", "masked_row") else {"gradient"}
    assert {one.state for one in leaves} == expected
    assert mended.origin is None


@pytest.mark.parametrize(("after", "state"), [("zero_grad()", "none"), ("zero_grad(set_to_none=False)", "zero")])
def test_cleared_gradients_are_told_from_those_that_never_came(after, state):
    watched = tensor(diagnose(DiagnosisSpec(after=after)), "head.weight")
    assert watched.state == state
    assert after in deciding(watched)
    assert watched.passed.norm > 0


def test_an_error_in_backward_ends_the_trace():
    found = program("second_backward")
    assert "a second time" in found.error.message
    assert "backward stopped with RuntimeError" in deciding(tensor(found, "w"))


def test_a_frozen_parameter_was_not_asked():
    found = diagnose(DiagnosisSpec(model=ModelSpec(frozen=("head",))))
    assert tensor(found, "head.weight").state == "not_asked"
    assert "frozen" in deciding(tensor(found, "head.weight"))


def test_a_fault_of_a_group_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"Fault\.group.*Choose among"):
        DiagnosisSpec(fault=Fault(kind="zero weights", group="no such group"))
