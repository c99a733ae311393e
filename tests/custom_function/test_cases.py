"""The public cases on custom Functions and gradcheck, each by the page's own spec."""

from __future__ import annotations

import pytest
import torch

from engine.custom_function.catalogue import TYPED
from engine.custom_function.functions_arguments import Fixed, Joined, JoinedList
from tests.custom_function.checking import at, check, gradients


def test_009_a_list_is_not_tracked_and_arguments_are():
    as_list, as_arguments = at(1.0, 1.0, function="JoinedList"), at(1.0, 1.0, function="Joined")
    assert (as_list.call.grad_fn, as_list.verdict.kind) == ("", "not tracked")
    assert as_arguments.call.grad_fn == "JoinedBackward"
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    assert not JoinedList.apply([a, b]).requires_grad
    (Joined.apply(a, b) * torch.tensor([2.0, 5.0])).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (2.0, 5.0)


def test_010_every_argument_wants_a_value_and_only_tensors_have_an_entry():
    wrong, right = check(function="ShiftWithoutSlot"), check(function="Shift")
    message = "function ShiftWithoutSlotBackward returned an incorrect number of gradients (expected 2, got 1)"
    assert wrong.call.backward_error.message == message
    assert wrong.verdict.kind == "wrong count"
    assert [one.returned[:7] for one in wrong.call.arguments] == ["Tensor ", "missing"]
    assert [one.returned[:7] for one in right.call.arguments] == ["Tensor ", "None"]
    assert [one.next_node is None for one in right.call.arguments] == [False, True]
    assert right.call.next_functions == ("torch::autograd::AccumulateGrad",)
    assert list(gradients(right)) == [1.0] * 4


def test_011_two_calls_keep_two_tensors():
    t = torch.ones(1, requires_grad=True)
    left, right = Fixed.apply(t, torch.tensor([10.0])), Fixed.apply(t, torch.tensor([200.0]))
    assert [one.grad_fn.saved_tensors[0].item() for one in (left, right)] == [10.0, 200.0]
    (left + right).sum().backward()
    assert t.grad.item() == 210.0
    kept = at(1.0, function="Fixed", scale=8.0).call.kept
    assert [(one.name, one.same_as) for one in kept] == [("saved_tensors[0]", "")]


def test_012_a_product_with_itself_keeps_the_input_and_no_more():
    found = at(1.0, 2.0, 3.0, function=TYPED, forward="x * x", backward="")
    assert [one.same_as for one in found.call.kept] == ["input 0", "input 0"]
    assert found.call.saved_bytes == 3 * 8


def test_090_float32_fails_loose_float32_passes_float64_passes():
    failed = check(function="LinearFunction", dtype="float32")
    assert failed.check.error.message.startswith("Jacobian mismatch for output 0 with respect to input 0")
    assert "is not a double precision floating point" in failed.check.warnings[0]
    assert failed.verdict.kind == "precision"
    assert check(function="LinearFunction", dtype="float32", eps=1e-2, atol=1e-2).check.passed
    double = check(function="LinearFunction")
    assert double.check.passed
    assert double.check.warnings == ()


def test_091_a_clipped_gradient_fails_unless_the_clip_is_out_of_the_way():
    clipped = at(1.0, -2.0, 3.0, function="ClipGradient", scale=4.0, limit=1.0)
    assert list(gradients(clipped)) == [1.0, 1.0, 1.0]
    assert "numerical:tensor([[4.0000" in clipped.check.error.message.replace("\n", " ")
    assert clipped.verdict.kind == "intended clip"
    assert at(1.0, -2.0, 3.0, function="ClipGradient", scale=4.0, limit=10.0).check.passed


def test_091_kinks_of_clamp_and_relu_fail_too():
    clamped = at(0.0, 1.0, 2.0, function=TYPED, forward="clamp(x, min=1, max=1)", backward="")
    assert not clamped.check.passed
    assert (clamped.check.worst.row, clamped.check.worst.column, clamped.check.mismatches) == (1, 1, 1)
    relu = at(0.0, function=TYPED, forward="relu(x)", backward="")
    assert not relu.check.passed
    assert relu.verdict.kind == "kink"


def test_092_a_backward_that_differs_from_call_to_call():
    noisy = at(1.0, 1.0, 1.0, function="Noisy")
    assert noisy.check.error.message.startswith("Backward is not reentrant")
    assert noisy.verdict.kind == "non-deterministic"
    assert at(1.0, 1.0, 1.0, function="Noisy", nondet_tol=1e-5).check.passed


@pytest.mark.parametrize("name", ["WrongShape"])
def test_a_gradient_of_another_shape_is_refused_in_pytorch_words(name):
    found = check(function=name)
    assert "got [] but expected shape compatible with [4]" in found.call.backward_error.message
    assert found.verdict.kind == "wrong shape"
