"""The backward of gelu_sigmoid is not the derivative of its forward, and by how much."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engine.operators import gelu_sigmoid, gelu_tanh


def test_forward_is_gelu_tanh():
    x = torch.randn(1000)
    assert torch.equal(gelu_sigmoid(x), gelu_tanh(x))


def test_gradcheck_fails_and_the_docstring_says_why():
    x = torch.randn(20, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(gelu_sigmoid, x)
    assert "not the derivative" in " ".join(gelu_sigmoid.__doc__.split())


def test_the_largest_deviation_from_the_true_derivative():
    """0.0292, at |x| = 1.434, and none at 0: PyTorch's true slope in float64 against the definition by hand."""
    x = torch.linspace(-10, 10, 200_001, dtype=torch.float64, requires_grad=True)
    (ours,) = torch.autograd.grad(gelu_sigmoid(x).sum(), x)
    (true,) = torch.autograd.grad(F.gelu(x, approximate="tanh").sum(), x)
    s = torch.sigmoid(1.702 * x.detach())
    torch.testing.assert_close(ours, s + x.detach() * s * (1 - s) * 1.702)
    deviation = (ours - true).abs()
    assert deviation.max().item() == pytest.approx(0.0292, abs=5e-5)
    assert abs(x[deviation.argmax()].item()) == pytest.approx(1.434, abs=1e-3)
    assert deviation[100_000] < 1e-15


def test_backward_at_the_ends():
    x = torch.tensor([-torch.inf, -1e30, 1e30, torch.inf, torch.nan], requires_grad=True)
    (slope,) = torch.autograd.grad(gelu_sigmoid(x).sum(), x)
    torch.testing.assert_close(slope[:4], torch.tensor([0.0, 0.0, 1.0, 1.0]), rtol=0, atol=1e-30)
    assert slope[4].isnan()
