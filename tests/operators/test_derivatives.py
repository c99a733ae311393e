"""Every operator's derivatives: by differences, of both modes, of both orders, by torch.func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.operators.case import Case
from tests.operators.cases import CASES
from tests.operators.contract import (
    built,
    by_case,
    tensors,
)

twice = [case for case in CASES if case.twice_differentiable]

once = [case for case in CASES if not case.twice_differentiable and case.differentiable]


@by_case
def test_gradcheck(case: Case):
    if not case.differentiable:
        pytest.skip("has no gradient")
    inputs = built(case, torch.float64, grad=True)
    if case.true_derivative:
        assert torch.autograd.gradcheck(case.call, inputs)
    else:
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            torch.autograd.gradcheck(case.call, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("case", twice, ids=str)
def test_gradgradcheck(case: Case):
    if not case.differentiable:
        pytest.skip("has no gradient")
    assert torch.autograd.gradgradcheck(case.call, built(case, torch.float64, grad=True))


@pytest.mark.parametrize("case", once, ids=str)
def test_a_second_derivative_is_refused_in_words(case: Case):
    inputs = built(case, torch.float64, grad=True)
    leaves = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
    first = torch.autograd.grad([out.sum() for out in tensors(case.call(*inputs))], leaves, create_graph=True)
    with pytest.raises(RuntimeError, match=f"{case.operator}.*not twice differentiable"):
        torch.autograd.grad([g.square().sum() for g in first], leaves)


def by_tangents(call: Callable[..., Any], case: Case, inputs: tuple[Any, ...]) -> Callable[..., tuple[Tensor, ...]]:
    """`call` as a function of the differentiable inputs alone."""

    def of(*given: Tensor) -> tuple[Tensor, ...]:
        args = list(inputs)
        for i, value in zip(case.differentiable, given, strict=True):
            args[i] = value
        return tensors(call(*args))

    return of


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=str)
def test_forward_mode_and_torch_func_agree_with_reverse_mode(case: Case):
    inputs = built(case, torch.float64)
    given = [inputs[i] for i in case.differentiable]
    tangents = [torch.randn_like(value) for value in given]
    ours = by_tangents(case.call, case, inputs)
    outputs, pushed = torch.func.jvp(ours, tuple(given), tuple(tangents))
    upstream = tuple(torch.randn_like(out) for out in outputs)
    leaves = [value.clone().requires_grad_() for value in given]
    expected = torch.autograd.grad(ours(*leaves), leaves, upstream)
    pulled = torch.func.vjp(ours, *given)[1](upstream)
    torch.testing.assert_close(pulled, expected)
    # <upstream, J tangents> = <J^T upstream, tangents>
    across = sum((u * t).sum() for u, t in zip(upstream, pushed, strict=True))
    torch.testing.assert_close(across, sum((g * t).sum() for g, t in zip(expected, tangents, strict=True)))
    with torch.autograd.forward_ad.dual_level():
        dual = ours(*map(torch.autograd.forward_ad.make_dual, given, tangents))
        torch.testing.assert_close([torch.autograd.forward_ad.unpack_dual(y).tangent for y in dual], list(pushed))


@pytest.mark.parametrize("case", [case for case in twice if case.differentiable and case.true_derivative], ids=str)
def test_every_order_of_both_modes_gives_one_second_derivative(case: Case):
    inputs = built(case, torch.float64)
    given = [inputs[i] for i in case.differentiable]
    ours, theirs = by_tangents(case.call, case, inputs), by_tangents(case.reference, case, inputs)
    direction, other = ([torch.randn_like(value) for value in given] for _ in range(2))

    def cubed(outputs: tuple[Tensor, ...]) -> Tensor:
        return sum((out.pow(3).sum() for out in outputs), torch.zeros((), dtype=torch.float64))

    def slope(call: Callable[..., Any], along: list[Tensor], step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: step(call, xs, along)

    def forward(call: Callable[..., Any], xs: tuple[Tensor, ...], along: list[Tensor]) -> Any:
        return torch.func.jvp(call, tuple(xs), tuple(along))[1]

    def reverse(call: Callable[..., Any], xs: tuple[Tensor, ...], along: list[Tensor]) -> Any:
        gradient = torch.func.grad(call, argnums=tuple(range(len(xs))))(*xs)
        return sum((g * t).sum() for g, t in zip(gradient, along, strict=True))

    leaves = [value.clone().requires_grad_() for value in given]
    first = torch.autograd.grad(cubed(theirs(*leaves)), leaves, create_graph=True)
    second = torch.autograd.grad([(g * t).sum() for g, t in zip(first, direction, strict=True)], leaves)
    expected = sum((g * t).sum() for g, t in zip(second, other, strict=True))
    for inner in (forward, reverse):
        for outer in (forward, reverse):
            found = slope(slope(lambda *xs: cubed(ours(*xs)), direction, inner), other, outer)(*given)
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8 * expected.abs().item() + 1e-12)
