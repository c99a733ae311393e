"""What every operator refuses, and in which words: alike with and without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

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
