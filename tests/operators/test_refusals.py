"""What every operator refuses, and in which words: alike with and without data."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.operators import adamw_step_, bias_gelu_dropout_residual, gemm, sgd_step_, weighted_row_sum
from tests.operators.case import Case
from tests.operators.cases import CASES
from tests.operators.contract import (
    Called,
    built,
    by_case,
    calls,
    compiled_only,
)


def leaves_of(called: Called) -> list[int]:
    """The places of tensors among the flattened arguments of a call."""
    flat, _ = torch.utils._pytree.tree_flatten(called[1:])
    return [i for i, value in enumerate(flat) if isinstance(value, Tensor)]


def swapped(called: Called, place: int, change: Callable[[Tensor], Any], device: str = "cpu") -> Called:
    """A call with one of its tensors changed, then all of them on `device`."""
    overload, *arguments = called
    flat, spec = torch.utils._pytree.tree_flatten(arguments)
    moved = [value.detach().clone() if isinstance(value, Tensor) else value for value in flat]
    moved[place] = change(moved[place])
    moved = [value.to(device) if isinstance(value, Tensor) and device != "cpu" else value for value in moved]
    args, kwargs = torch.utils._pytree.tree_unflatten(moved, spec)
    return overload, args, kwargs


def said(called: Called) -> str:
    """What a call is refused with; empty when it is not."""
    overload, args, kwargs = called
    try:
        overload(*args, **kwargs)
    except RuntimeError as error:
        return str(error)
    return ""


@by_case
def test_tensors_of_two_devices_are_refused(case: Case):
    """Where one is on meta PyTorch calls the fake, whose results hold nothing."""
    for called in calls(case, built(case, torch.float32, grad=True), backward=True):
        for place in leaves_of(called) if len(leaves_of(called)) > 1 else ():
            text = said(swapped(called, place, lambda x: x.to("meta")))
            assert text.startswith(called[0].name().removeprefix("atlas::")), (called[0], place)
            assert "on the device of" in text


CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "int32": lambda x: x.to(torch.int32),
    "complex64": lambda x: x.to(torch.complex64),
    "another float": lambda x: x.to(torch.float64 if x.dtype == torch.float32 else torch.float32),
    "one more dimension": lambda x: x.unsqueeze(-1),
    "no dimension": lambda x: x.new_zeros(()),
    "one more column": lambda x: torch.cat((x, x), -1)[..., : x.shape[-1] + 1] if x.dim() and x.numel() else x,
}


@compiled_only
@by_case
def test_fakes_refuse_what_kernels_refuse_in_the_same_words(case: Case):
    refusals = 0
    for called in calls(case, built(case, torch.float32, grad=True), backward=True):
        for place in leaves_of(called):
            for change in CHANGES.values():
                real, fake = (said(swapped(called, place, change, device)) for device in ("cpu", "meta"))
                assert real.replace("cpu", "meta") == fake
                refusals += bool(real)
    assert refusals


@by_case
def test_what_is_no_strided_tensor_is_refused_by_name(case: Case):
    inputs = built(case, torch.float32)
    for place, value in enumerate(inputs):
        if isinstance(value, Tensor) and value.dim() > 0 and case.differentiable:
            for wrong, error in ((None, TypeError), ([1.0], TypeError), (value.to_sparse(), RuntimeError)):
                given = [wrong if i == place else other for i, other in enumerate(inputs)]
                with pytest.raises(error, match=f"^{case.operator}: expected .*; received "):
                    case.call(*given)


@compiled_only
@pytest.mark.parametrize("case", [case for case in CASES if case.elementwise], ids=str)
def test_a_result_without_memory_is_refused_in_words(case: Case):
    with pytest.raises(RuntimeError, match=f"^{case.operator}: expected memory for the result; received: .*allocate"):
        case.call(torch.ones(1).expand(2**46))


@compiled_only
@by_case
def test_a_wrong_dtype_is_refused_by_name(case: Case):
    inputs = [
        value.to(torch.int32) if isinstance(value, Tensor) and value.is_floating_point() else value
        for value in built(case, torch.float32)
    ]
    with pytest.raises(RuntimeError, match=f"^{case.operator}: expected .*; received int32"):
        case.call(*inputs)


@pytest.mark.parametrize(
    "wrong", [torch.ones(2), iter([torch.ones(2)]), [None], None], ids=["tensor", "iterator", "None in it", "None"]
)
def test_what_is_no_list_of_tensors_is_refused_by_name(wrong: Any):
    with pytest.raises(TypeError, match=r"^sgd_step_: expected params as a list of tensors; received "):
        sgd_step_(wrong, [torch.ones(2)], lr=0.1)
    with pytest.raises(TypeError, match=r"^adamw_step_: expected exp_avgs as a list of tensors; received "):
        adamw_step_([torch.ones(2)], [torch.ones(2)], wrong, [torch.ones(2)], step=1)


@pytest.mark.parametrize("seed", [1.5, 2**63, -(2**63) - 1, "1"])
def test_a_seed_that_is_no_int64_is_refused(seed: Any):
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"^bias_gelu_dropout_residual: expected seed as an int of 64 bits"):
        bias_gelu_dropout_residual(x, x[0], x, seed=seed)


def test_a_dampening_that_is_not_finite_is_refused():
    for dampening in (float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match=r"^sgd_step_: expected a finite dampening; received "):
            sgd_step_([torch.ones(2)], [torch.ones(2)], lr=0.1, dampening=dampening)


def test_gemm_names_the_shapes_it_was_given():
    for a, b, said in (
        ((2, 4, 3), (5, 2), "as many rows as a has columns, 3; received a (2, 4, 3) and b (5, 2)"),
        ((2, 4, 3), (3, 3, 2), "leading dimensions that broadcast; received a (2, 4, 3) and b (3, 3, 2)"),
        ((0, 4, 3), (0, 5, 2), "as many rows as a has columns, 3; received a (0, 4, 3) and b (0, 5, 2)"),
    ):
        with pytest.raises(RuntimeError, match=f"^gemm: expected .*{re.escape(said)}"):
            gemm(torch.ones(a), torch.ones(b))


def test_a_batch_of_no_matrices_has_the_history_and_dtype_of_others():
    a, b = torch.ones(0, 4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    product = gemm(a, b.expand(0, 3, 2))
    assert product.shape == (0, 4, 2)
    product.sum().backward()
    assert a.grad.shape == a.shape
    assert torch.equal(b.grad, torch.zeros(3, 2))
    with torch.autocast("cpu", torch.bfloat16):
        assert gemm(a, b.expand(0, 3, 2)).dtype == torch.bfloat16


def test_vmap_over_no_samples_has_their_shape():
    bias = torch.ones(3)
    got = torch.vmap(lambda x: bias_gelu_dropout_residual(x, bias, x, seed=1))(torch.ones(0, 2, 3))
    assert got.shape == (0, 2, 3)


def test_weighted_row_sum_takes_the_wider_dtype_under_autocast():
    x, weights = torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(3)
    with torch.autocast("cpu", torch.bfloat16):
        assert weighted_row_sum(x, weights).dtype == torch.float32
