"""What the tests of every operator share: how a case is built, called and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.operators.load import load
from tests.operators.case import DEVICES, Case, maker
from tests.operators.cases import CASES

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")

by_case = pytest.mark.parametrize("case", CASES, ids=str)

by_device = pytest.mark.parametrize("device", DEVICES)


def built(case: Case, dtype: torch.dtype, device: str = "cpu", *, grad: bool = False) -> tuple[Any, ...]:
    """The case's inputs; those that are differentiable as leaves when `grad`."""
    inputs = case.inputs(maker(dtype, device))
    if not grad:
        return inputs
    return tuple(
        value.detach().clone().requires_grad_() if i in case.differentiable else value for i, value in enumerate(inputs)
    )


def in_float64(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        value.detach().to("cpu", torch.float64).requires_grad_(value.requires_grad)
        if isinstance(value, Tensor) and value.is_floating_point()
        else value
        for value in inputs
    )


def tensors(result: Any) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else tuple(result)


def assert_near(case: Case, got: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    assert got.shape == expected.shape
    if expected.numel() == 0:
        return
    size = max(expected.abs().max().item(), torch.finfo(dtype).tiny)
    error = (got.detach().cpu().double() - expected.detach()).abs().max().item()
    # PyTorch's operations round after each of their steps, a kernel once.
    rounded_often = 1 if load().compiled else 8
    own = 4 if dtype == torch.float64 else 1  # there the reference's own error counts too
    allowed = rounded_often * own * case.relative * torch.finfo(dtype).eps * size
    assert error <= allowed, f"error {error:.3g} of {size:.3g}"


def gradients(call: Callable[..., Any], inputs: tuple[Any, ...], upstream: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    leaves = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    outputs = tensors(call(*inputs))
    return torch.autograd.grad(outputs, leaves, [g.to(o) for g, o in zip(upstream, outputs, strict=True)])


Called = tuple[Any, tuple[Any, ...], dict[str, Any]]


def calls(case: Case, inputs: tuple[Any, ...], *, backward: bool = False) -> list[Called]:
    """The operators that the case calls, with what they are called with; also by its backward."""
    seen: list[Called] = []

    class Recorded(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if isinstance(func, torch._ops.OpOverloadPacket) and "atlas" in str(func):
                seen.append((func.default, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Recorded():
        outputs = tensors(case.call(*inputs))
        if backward and case.differentiable:
            sum(out.square().sum() for out in outputs).backward()
    assert seen
    return seen
