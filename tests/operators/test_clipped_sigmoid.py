"""clipped_sigmoid where it is clipped, where it saturates, and where it is refused."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch
from torch import Tensor

from engine.operators import clipped_sigmoid
from engine.operators.load import load
from tests.operators.case import FLOATING


def slope(x: Tensor, **settings: float) -> Tensor:
    (result,) = torch.autograd.grad(clipped_sigmoid(x, **settings).sum(), x, create_graph=True)
    return result


def test_the_slope_is_never_steeper_than_the_clip_and_reaches_it():
    x = torch.linspace(-9, 9, 1801, requires_grad=True)
    got = slope(x, beta=2.0, clip=0.1)
    assert got.max().item() == pytest.approx(0.1)
    assert torch.equal(got[(x.abs() < 1)], torch.full_like(got[(x.abs() < 1)], 0.1))


def test_a_falling_sigmoid_is_clipped_from_below():
    x = torch.zeros(1, requires_grad=True)
    assert slope(x, beta=-4.0, clip=0.25).item() == -0.25


def test_the_second_derivative_is_exactly_zero_where_clipped_and_true_elsewhere():
    x = torch.linspace(-6, 6, 61, dtype=torch.float64, requires_grad=True)
    (second,) = torch.autograd.grad(slope(x, beta=1.5, clip=0.2).sum(), x)
    s = torch.sigmoid(1.5 * x.detach())
    steep = 1.5 * s * (1 - s) > 0.2
    assert steep.any()
    assert torch.equal(second[steep], torch.zeros_like(second[steep]))
    torch.testing.assert_close(second[~steep], (1.5**2 * s * (1 - s) * (1 - 2 * s))[~steep])


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_huge_inputs_saturate_without_overflow(dtype: torch.dtype):
    large = torch.finfo(dtype).max
    x = torch.tensor([-inf, -large, -1000.0, 1000.0, large, inf, nan], dtype=dtype).repeat(11).requires_grad_()
    y = clipped_sigmoid(x, beta=3.0, clip=inf)
    y.backward(torch.ones_like(y))
    assert torch.equal(y[:6], torch.tensor([0, 0, 0, 1, 1, 1], dtype=dtype))
    assert torch.equal(x.grad[:6], torch.zeros(6, dtype=dtype))
    assert y[6].isnan()


def test_both_tails_keep_their_digits():
    x = torch.linspace(-80, 80, 3201, requires_grad=True)
    wide = x.detach().double()
    torch.testing.assert_close(
        slope(x, clip=inf).double(), torch.sigmoid(wide) * torch.sigmoid(-wide), rtol=1e-5, atol=0
    )
    torch.testing.assert_close(clipped_sigmoid(x).double(), torch.sigmoid(wide), rtol=1e-5, atol=0)


@pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"clip": -0.1}, "expected a clip of at least 0 .*; received -0.1"),
        ({"clip": nan}, "expected a clip of at least 0 .*; received nan"),
        ({"beta": inf}, "expected a finite beta; received inf"),
    ],
)
def test_nonsense_is_refused_in_words(settings: dict[str, float], words: str):
    with pytest.raises(RuntimeError, match=f"^clipped_sigmoid: {words}"):
        clipped_sigmoid(torch.zeros(3), **settings)
