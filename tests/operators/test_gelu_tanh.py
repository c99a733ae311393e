"""gelu_tanh on inputs where formulas break: NaN, infinities, what x^3 overflows for, subnormals."""

from __future__ import annotations

import math
from math import inf, nan

import pytest
import torch

from engine.operators import gelu_tanh
from engine.operators.load import load
from tests.operators.case import FLOATING


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_limits_are_reached_and_nan_stays(dtype: torch.dtype):
    large = torch.finfo(dtype).max
    x = torch.tensor([-inf, -large, -300.0, inf, large, 300.0, nan], dtype=dtype).repeat(19).requires_grad_()
    y = gelu_tanh(x)
    y.backward(torch.ones_like(x))
    assert torch.equal(y[:3], torch.zeros(3, dtype=dtype))
    assert torch.equal(y[3:6], x[3:6])
    assert torch.equal(x.grad[:6], torch.tensor([0, 0, 0, 1, 1, 1], dtype=dtype))
    assert y[6].isnan()
    assert x.grad[6].isnan()


@pytest.mark.skipif(not load().compiled, reason="F.gelu, the reference, takes 1 + tanh, which has no digits left there")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_digit_between_the_limits(dtype: torch.dtype):
    """Relative, not of the largest: also in the left tail, where values are tiny."""
    x = torch.linspace(-8, 12, 40_001, dtype=dtype)
    wide = x.double()
    right = wide * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    # e^-2u multiplies the rounding error of 2u, up to 70, by itself
    torch.testing.assert_close(gelu_tanh(x).double(), right.double(), rtol=200 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_zeros_keep_their_sign_and_subnormals_are_halved(dtype: torch.dtype):
    tiny = torch.finfo(dtype).tiny / 4
    y = gelu_tanh(torch.tensor([0.0, -0.0, tiny, -tiny], dtype=dtype))
    assert y.signbit().tolist() == [False, True, False, True]
    assert y[2] == tiny / 2


def test_the_second_derivative_at_the_limits_is_zero():
    x = torch.tensor([-inf, -1e30, 1e30, inf]).requires_grad_()
    (first,) = torch.autograd.grad(gelu_tanh(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(second, torch.zeros(4))


def test_a_batch_of_upstream_gradients_is_that_of_each():
    x = torch.randn(7, dtype=torch.float64, requires_grad=True)
    y, upstream = gelu_tanh(x), torch.randn(3, 7, dtype=torch.float64)
    (together,) = torch.autograd.grad(y, x, upstream, is_grads_batched=True, retain_graph=True)
    each = [torch.autograd.grad(y, x, one, retain_graph=True)[0] for one in upstream]
    torch.testing.assert_close(together, torch.stack(each))
