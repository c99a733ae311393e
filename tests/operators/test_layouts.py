"""Every operator on memory in every order: values, gradients, and the strides of its results, real and fake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.operators.case import Case, maker
from tests.operators.cases import CASES
from tests.operators.contract import (
    assert_near,
    built,
    by_case,
    calls,
    compiled_only,
    gradients,
    tensors,
)

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "strided": lambda x: torch.stack((x, torch.zeros_like(x)), -1)[..., 0],
    "offset": lambda x: torch.cat((torch.zeros_like(x)[:1], x))[1:],
    "reversed storage": lambda x: x.flip(-1).contiguous().flip(-1),
    "permuted slice": lambda x: permuted_slice(x),
    "channels_last slice": lambda x: channels_last_slice(x),
    "expanded": lambda x: x[:1].expand(x.shape),
    "overlapping": lambda x: torch.as_strided(x.contiguous(), x.shape, [1] * x.dim()),
}

SAME_VALUES = tuple(name for name in LAYOUTS if name not in ("expanded", "overlapping"))


def permuted_slice(x: Tensor) -> Tensor:
    """The last dimension slowest, every other in its order, and gaps between the fastest."""
    turned = x.movedim(-1, 0)
    return torch.cat((turned, turned), -1)[..., : turned.shape[-1]].movedim(0, -1)


def channels_last_slice(x: Tensor) -> Tensor:
    """The first channels of a channels_last tensor; with fewer than four dimensions, columns of a wider one."""
    wide = torch.cat((x, x), 1 if x.dim() > 1 else 0)
    wide = wide.to(memory_format=torch.channels_last) if x.dim() == 4 else wide
    return wide[:, : x.shape[1]] if x.dim() > 1 else wide[: x.shape[0]]


def laid_out(inputs: tuple[Any, ...], layout: str) -> tuple[Any, ...]:
    return tuple(
        LAYOUTS[layout](value.detach()).requires_grad_(value.requires_grad)
        if isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 0
        else value
        for value in inputs
    )


@pytest.mark.parametrize("layout", SAME_VALUES)
@by_case
def test_layouts_change_neither_values_nor_gradients(case: Case, layout: str):
    inputs = built(case, torch.float32, grad=True)
    strange = laid_out(inputs, layout)
    outputs = tensors(case.call(*inputs))
    for got, expected in zip(tensors(case.call(*strange)), outputs, strict=True):
        torch.testing.assert_close(got, expected)
    if case.differentiable:
        upstream = tuple(torch.randn_like(out) for out in outputs)
        expected = gradients(case.call, inputs, upstream)
        strided = tuple(LAYOUTS[layout](g) if g.dim() else g for g in upstream)
        for got, right in zip(gradients(case.call, strange, strided), expected, strict=True):
            torch.testing.assert_close(got, right)


@compiled_only
@by_case
def test_fake_results_are_laid_out_like_real_ones(case: Case):
    """Forward and backward: a compiler plans by the fake ones."""
    for layout in LAYOUTS:
        if layout in ("expanded", "overlapping") and not case.differentiable:
            continue  # written in place
        for overload, args, kwargs in calls(
            case, laid_out(built(case, torch.float32, grad=True), layout), backward=True
        ):
            plain = torch.utils._pytree.tree_map_only(Tensor, torch.Tensor.detach, (args, kwargs))
            torch.library.opcheck(overload, *plain, test_utils="test_faketensor")


IMAGES: dict[str, Callable[[], Tensor]] = {
    "permuted slice": lambda: torch.randn(6, 5, 8)[:, :, :4].permute(2, 0, 1),
    "channels_last slice": lambda: torch.randn(2, 8, 4, 6).to(memory_format=torch.channels_last)[:, :4],
    "transposed columns": lambda: torch.randn(8, 6).t()[:, :4],
    "expanded": lambda: torch.randn(3, 1, 5).expand(3, 4, 5),
    "overlapping": lambda: torch.as_strided(torch.randn(20), (4, 5), (1, 2)),
}


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("case", [case for case in CASES if case.elementwise], ids=str)
def test_elementwise_results_are_laid_out_as_empty_like_says(case: Case, image: str):
    x = IMAGES[image]()
    upstream = torch.randn(x.shape)
    leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
    y = case.call(x)
    assert y.stride() == torch.empty_like(x).stride()
    assert_near(case, y, case.reference(x.double()), torch.float32)
    for overload, args, kwargs in calls(case, (leaf,), backward=True):
        same = [x if isinstance(value, Tensor) else value for value in args]
        assert overload(*same, **kwargs).stride() == torch.empty_like(x).stride()
    leaf.grad = None
    case.call(leaf).backward(upstream)
    expected = gradients(case.reference, (x.double().requires_grad_(),), (upstream,))
    assert_near(case, leaf.grad, expected[0], torch.float32)


@pytest.mark.parametrize("case", [case for case in CASES if case.elementwise], ids=str)
def test_elementwise_operators_take_any_shape(case: Case):
    make = maker(torch.float32)
    _, *others = built(case, torch.float32)
    if others and any(isinstance(value, Tensor) for value in others):
        pytest.skip("its other inputs fix the shape")
    for x in (make(), make(0), make(3, 0, 2), make(1), make(2, 3, 4, 5).to(memory_format=torch.channels_last)):
        y = case.call(x.clone().requires_grad_(), *others)
        assert (y.shape, y.stride()) == (x.shape, x.stride())
        assert_near(case, y, case.reference(x.double(), *others), torch.float32)
        y.sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in CASES if str(case) in ("gemm-packed", "gemm-matmul", "gelu_tanh")], ids=str
)
def test_inductor_gives_the_same(case: Case):
    """Around the operator too, where inductor plans by its strides."""
    inputs = laid_out(built(case, torch.float32, grad=True), "permuted slice")

    def around(*args: Any) -> Tensor:
        return case.call(*args).transpose(0, 1) * 2 + 1

    torch.compiler.reset()  # every case is one recompilation of the same frame
    compiled = torch.compile(around, fullgraph=True)
    torch.testing.assert_close(compiled(*inputs), around(*inputs))
    upstream = (torch.randn_like(around(*inputs)),)
    torch.testing.assert_close(gradients(compiled, inputs, upstream), gradients(around, inputs, upstream))
