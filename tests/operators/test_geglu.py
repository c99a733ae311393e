"""geglu: shapes it takes, shapes it refuses, and halves that no loop may mix."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engine.operators import geglu
from tests.operators.cases.geglu import composed


@pytest.mark.parametrize("shape", [(), (3,), (4, 5), (2, 3, 7)])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_an_odd_last_dimension_is_refused_in_words(shape: tuple[int, ...], device: str):
    with pytest.raises(RuntimeError, match=r"geglu: expected x with an even last dimension, .*; received \("):
        geglu(torch.zeros(shape, device=device))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (2, 0, 6), (2,), (1, 2), (5, 2050), (3, 4096)])
def test_every_even_shape(shape: tuple[int, ...]):
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    y, right = geglu(x), composed(x)
    torch.testing.assert_close(y, right)
    upstream = torch.randn_like(y)
    torch.testing.assert_close(torch.autograd.grad(y, x, upstream), torch.autograd.grad(right, x, upstream))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_rows_longer_than_a_tile_of_16_bit_values(dtype: torch.dtype):
    x = torch.randn(3, 2 * 2500).to(dtype)
    torch.testing.assert_close(geglu(x), composed(x.float()).to(dtype))


def test_a_gate_at_minus_infinity_closes():
    x = torch.tensor([[3.0, -torch.inf], [3.0, torch.inf]], requires_grad=True)
    y = geglu(x)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert y.flatten().tolist() == [0.0, torch.inf]
    assert grad.tolist() == [[0.0, 0.0], [torch.inf, 3.0]]


def test_a_sample_without_a_last_dimension_is_refused_under_vmap_too():
    with pytest.raises(RuntimeError, match="geglu: expected x with an even last dimension"):
        torch.vmap(geglu)(torch.zeros(4))


def test_channels_last_gives_the_same():
    x = torch.randn(2, 3, 4, 6).to(memory_format=torch.channels_last)
    torch.testing.assert_close(geglu(x), x[..., :3] * F.gelu(x[..., 3:], approximate="tanh"))
