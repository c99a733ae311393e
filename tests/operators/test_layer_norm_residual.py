"""What is particular to layer_norm_residual: both outputs, statistics far from 0, empty rows, what is saved."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from engine.operators import layer_norm_residual
from engine.operators.load import load
from tests.operators.case import DEVICES, maker

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
by_device = pytest.mark.parametrize("device", DEVICES)


def made(*shape, dtype=torch.float32, device="cpu"):
    make = maker(dtype, device)
    tensors = make(*shape), make(*shape), make(shape[-1]), make(shape[-1])
    return tuple(x.requires_grad_() for x in tensors)


def right(x, residual, weight, bias, eps=1e-5):
    summed = x + residual
    return F.layer_norm(summed, weight.shape, weight, bias, eps), summed


def in_float64(inputs):
    return tuple(x.detach().cpu().double().requires_grad_() for x in inputs)


def assert_gradients(inputs, loss, *, rtol=1e-5, atol=1e-5):
    """Of loss(y, summed), against PyTorch in float64."""
    got = torch.autograd.grad(loss(*layer_norm_residual(*inputs)), inputs)
    wide = in_float64(inputs)
    for one, expected in zip(got, torch.autograd.grad(loss(*right(*wide)), wide), strict=True):
        torch.testing.assert_close(one.cpu().double(), expected, rtol=rtol, atol=atol)


LOSSES = {
    "both outputs": lambda y, summed: (y * summed).sum(),
    "the layer norm alone": lambda y, summed: y.square().sum(),
    "apart": lambda y, summed: y.sin().sum() + summed.cos().sum(),
}


@by_device
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("columns", [1, 2, 15, 16, 17, 1024, 1025, 2500])
def test_gradients_through_both_outputs(loss, columns, device):
    assert_gradients(made(3, columns, device=device), loss, atol=1e-4)


@by_device
def test_where_only_the_sum_is_used_its_gradient_passes_on(device):
    x, residual, weight, bias = made(4, 6, device=device)
    _, summed = layer_norm_residual(x, residual, weight, bias)
    upstream = torch.randn_like(summed)
    got = torch.autograd.grad(summed, (x, residual, weight), upstream, allow_unused=True)
    assert torch.equal(got[0], upstream)
    assert torch.equal(got[1], upstream)
    assert got[2] is None


@by_device
def test_a_stack_of_blocks_hands_the_sum_on(device):
    x, residual, weight, bias = made(2, 5, 8, device=device)

    def stack(norm, x, residual, weight, bias):
        for _ in range(4):
            x, residual = norm(x, residual, weight, bias)
        return x + residual

    got = torch.autograd.grad(stack(layer_norm_residual, x, residual, weight, bias).sum(), (x, residual, weight, bias))
    wide = in_float64((x, residual, weight, bias))
    for one, expected in zip(got, torch.autograd.grad(stack(right, *wide).sum(), wide), strict=True):
        torch.testing.assert_close(one.cpu().double(), expected, rtol=1e-4, atol=1e-4)


@by_device
@pytest.mark.parametrize("mean", [1e3, -1e4, 1e6])
def test_statistics_far_from_zero_keep_the_digits_that_the_sum_has(mean, device):
    """By variance = E[x^2] - E[x]^2 in float32 nothing would be left of a spread of 1 at 1e4."""
    x, residual, weight, bias = made(6, 1024, device=device)
    x = (x.detach() + mean).requires_grad_()
    summed = (x + residual).detach()
    zeros = torch.zeros_like(summed)
    inputs = summed.requires_grad_(), zeros.requires_grad_(), weight, bias
    y, _ = layer_norm_residual(*inputs)
    torch.testing.assert_close(y.cpu().double(), right(*in_float64(inputs))[0], rtol=1e-5, atol=1e-5)
    assert_gradients(inputs, lambda y, summed: y.sin().sum(), rtol=1e-5, atol=2e-5)


@by_device
@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.5])
def test_a_constant_row_and_the_size_of_eps(eps, device):
    x, residual, weight, bias = (t.detach() for t in made(3, 40, device=device))
    x[1], residual[1] = 3.0, 0.5
    y, _ = layer_norm_residual(x, residual, weight, bias, eps)
    expected, _ = right(*(t.cpu().double() for t in (x, residual, weight, bias)), eps)
    torch.testing.assert_close(y.cpu().double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(y[1], bias)


@by_device
def test_hard_rows_give_what_pytorch_gives_in_float64(device):
    """1e30 squared is beyond float32, where F.layer_norm gives NaN."""
    inf, nan = float("inf"), float("nan")
    rows = [[nan, 1.0, 2.0], [inf, 1.0, 2.0], [-inf, inf, 0.0], [1e30, 1.0, 2.0], [1.0, 2.0, 3.0]]
    x = torch.tensor(rows, device=device)
    ones = torch.ones(3, device=device)
    y, summed = layer_norm_residual(x, torch.zeros_like(x), ones, ones)
    expected = F.layer_norm(x.cpu().double(), (3,), ones.cpu().double(), ones.cpu().double())
    torch.testing.assert_close(y.cpu().double(), expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert torch.equal(summed.isnan(), x.isnan())


@by_device
@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (2, 0, 5), (0, 0), (1,), (7,), (2, 3, 4, 5)])
def test_empty_and_single_rows(shape, device):
    inputs = made(*shape, device=device)
    got, expected = layer_norm_residual(*inputs), right(*in_float64(inputs))
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one.cpu().double(), other, rtol=1e-5, atol=1e-5)
    # A row of one value has rstd = 316: so many times larger is the rounding.
    assert_gradients(inputs, lambda y, summed: (y * y + summed).sum(), atol=1e-4)


@by_device
@pytest.mark.parametrize("columns", [1024, 1029])
def test_outputs_beyond_the_cache_are_written_whole(columns, device):
    """4 MiB and more are stored past it; rows of 1029 values do not begin at a line of the cache."""
    inputs = made(1100, columns, device=device)
    for one, expected in zip(layer_norm_residual(*inputs), right(*in_float64(inputs)), strict=True):
        torch.testing.assert_close(one.cpu().double(), expected, rtol=1e-5, atol=1e-5)
    assert_gradients(inputs, lambda y, summed: (y * summed).sum(), rtol=1e-5, atol=1e-3)


def test_parameter_gradients_do_not_depend_on_the_number_of_threads():
    inputs, threads, found = made(3000, 70), torch.get_num_threads(), []
    try:
        for number in (1, 2, 3, 7):
            torch.set_num_threads(number)
            y, summed = layer_norm_residual(*inputs)
            found.append(torch.autograd.grad((y * summed).sum(), inputs))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True))


@by_device
def test_many_rows_add_up_to_the_gradients_of_the_parameters(device):
    assert_gradients(made(5000, 3, device=device), lambda y, summed: y.sin().sum(), rtol=1e-5, atol=1e-3)


def test_the_sum_is_saved_once_and_two_numbers_per_row():
    inputs, saved = made(50, 64), []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
        layer_norm_residual(*inputs)
    assert sorted(x.numel() for x in saved) == [50, 50, 64, 50 * 64]
    assert {x.dtype for x in saved if x.dim() == 1 and len(x) == 50} == {torch.float64}


@by_device
def test_a_third_derivative_is_the_one_of_plain_operations(device):
    """Not F.layer_norm's: its second derivative takes mean and rstd for constants (torch 2.13), so its third is off."""

    def composed(x, residual, weight, bias, eps=1e-5):
        summed = x + residual
        centred = summed - summed.mean(-1, keepdim=True)
        rstd = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
        return centred * rstd * weight + bias, summed

    inputs = made(2, 5, dtype=torch.float64, device=device)
    found = []
    for function in (layer_norm_residual, composed):
        y, _ = function(*inputs)
        (first,) = torch.autograd.grad(y.pow(3).sum(), inputs[0], create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), inputs[0], create_graph=True)
        found.append(torch.autograd.grad(second.sin().sum(), inputs[0])[0])
    torch.testing.assert_close(*found)


@by_device
def test_autocast_computes_in_float32(device):
    x, residual, weight, bias = (t.detach() for t in made(4, 16, device=device))
    with torch.autocast(device, torch.bfloat16):
        y, summed = layer_norm_residual(x.bfloat16(), residual, weight, bias)
    assert y.dtype == summed.dtype == torch.float32
    torch.testing.assert_close(y, right(x.bfloat16().float(), residual, weight, bias)[0])


@by_device
def test_vmap_with_parameters_of_every_samples_own_and_with_several_gradients(device):
    x, residual, weight, bias = made(3, 4, 6, dtype=torch.float64, device=device)
    weights, biases = weight * torch.ones(3, 1, device=device).double(), bias + torch.arange(3, device=device)[:, None]
    got = torch.vmap(layer_norm_residual)(x, residual, weights, biases)
    expected = [right(*one) for one in zip(x, residual, weights, biases, strict=True)]
    for number, stacked in enumerate(got):
        torch.testing.assert_close(stacked, torch.stack([one[number] for one in expected]))
    upstream = torch.randn(5, 3, 4, 6, dtype=torch.float64, device=device)
    rows = [
        torch.autograd.grad(function(x, residual, weight, bias)[0], (x, weight, bias), upstream, is_grads_batched=True)
        for function in (layer_norm_residual, right)
    ]
    for one, other in zip(*rows, strict=True):
        torch.testing.assert_close(one, other)


@compiled_only
@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 3), (3,), (3,), (3,)), r"residual of the shape of x, \(2, 3\); received \(3,\)"),
        (((2, 3), (2, 3), (2,), (3,)), r"weight of shape \(3,\), the last dimension of x \(2, 3\); received \(2,\)"),
        (((2, 3), (2, 3), (3,), (2, 3)), r"bias of shape \(3,\), the last dimension of x \(2, 3\); received \(2, 3\)"),
        (((), (), (1,), (1,)), "x of one dimension at least; received a 0-d tensor"),
    ],
)
def test_wrong_shapes_are_refused_in_words(shapes, words):
    with pytest.raises(RuntimeError, match=f"^layer_norm_residual: expected {words}"):
        layer_norm_residual(*(torch.zeros(shape) for shape in shapes))


@compiled_only
def test_mixed_dtypes_are_refused_in_words():
    x, weight = torch.zeros(2, 3), torch.zeros(3)
    with pytest.raises(RuntimeError, match="expected weight of the dtype of x, float32; received float64"):
        layer_norm_residual(x, x, weight.double(), weight)
