"""What ctx keeps and for how long, what arrives in backward, what it owes."""

from __future__ import annotations

import pytest
import torch

from engine.custom_function.functions_ctx import ScaleInPlace
from tests.custom_function.checking import at, check


def kept(found):
    return [(one.name, one.storage_bytes, one.same_as) for one in found.call.kept]


def test_saved_tensors_and_attributes_are_told_apart():
    sigmoid = check()
    assert kept(sigmoid) == [("saved_tensors[0]", 32, "input 0"), ("ctx.beta", 0, ""), ("ctx.clip", 0, "")]
    assert sigmoid.call.saved_bytes == 4 * 8
    assert kept(check(function="SafeSigmoid")) == [("saved_tensors[0]", 32, "output 0")]
    assert kept(check(function="XExpOnCtx")) == [("ctx.x", 32, "input 0"), ("ctx.y", 32, "output 0")]


def test_bytes_follow_dtype_and_memory_not_shape():
    assert check(dtype="float32").call.saved_bytes == 4 * 4
    assert check(function="ComplexSquare", dtype="complex128").call.saved_bytes == 4 * 16
    assert check(inputs="expanded").call.saved_bytes == 8  # four elements, one number in memory


def test_an_unused_output_arrives_as_zeros_or_none():
    assert check(function="SinCos").call.arrives == ("Tensor (4,)", "zeros (4,)")
    assert check(function="SinCosUnmaterialized").call.arrives == ("Tensor (4,)", "None")


def test_one_slot_per_argument():
    linear = check(function="LinearFunction").call
    assert [one.name for one in linear.arguments] == ["x", "weight", "bias"]
    assert linear.returned_count == len(linear.next_functions) == 3
    sigmoid = check().call
    assert [one.returned for one in sigmoid.arguments][1:] == ["None", "None"]
    assert [one.next_node for one in sigmoid.arguments][1:] == [None, None]
    assert [one.next_node for one in check(function="Fixed").call.arguments][1:] == ["None"]


def test_the_graph_of_one_call():
    assert check().call.nodes == ("CustomSigmoidBackward", "torch::autograd::AccumulateGrad")
    assert check(function="ScaleInPlace").call.nodes[1] == "CloneBackward0"


def test_an_output_on_ctx_keeps_itself_alive_until_the_collector_runs():
    assert (check(function="XExpOnCtx").lifetime.freed_at_once, check(function="XExpOnCtx").lifetime.freed_by_gc) == (
        False,
        True,
    )
    assert check(function="XExp").lifetime.freed_at_once is True


def test_a_write_into_a_saved_input_is_noticed_only_with_save_for_backward():
    safe, unsafe = check(function="XExp").lifetime, check(function="XExpOnCtx").lifetime
    assert "modified by an inplace operation" in safe.write_error.message
    assert safe.gradient_changed is None
    assert unsafe.write_error is None
    # y stays, exp(x) becomes exp(x + 1): off by exp(x) (e - 1), most at the largest point
    x = torch.tensor(1.3, dtype=torch.float64)
    assert unsafe.gradient_changed == pytest.approx((x.exp() * (torch.e - 1)).item(), rel=1e-12)
    assert check(function="Shift").lifetime.gradient_changed == 0.0


def test_mark_dirty_tells_autograd_of_the_write():
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        ScaleInPlace.apply(leaf, 3.0)
    written = leaf.clone()
    before = written.grad_fn
    assert ScaleInPlace.apply(written, 3.0) is written
    assert written._version > 0
    assert written.grad_fn.next_functions[0][0] is before


def test_empty_and_single_points_are_described_too():
    assert check(inputs="empty").call.saved_bytes == 0
    assert at(0.0).call.saved_bytes == 8
