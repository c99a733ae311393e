"""What is particular to weighted_row_sum: strides, lengths of rows, empty matrices, one gradient of two."""

from __future__ import annotations

import pytest
import torch

from engine.operators import weighted_row_sum
from engine.operators.load import load
from tests.operators.case import DEVICES, maker

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
by_device = pytest.mark.parametrize("device", DEVICES)

LAYOUTS = {
    "contiguous": lambda x: x,
    "rows apart": lambda x: x[1::2, 2:],
    "columns dense": lambda x: x.T,
    "columns apart": lambda x: x.T[3:, ::2],
    "neither": lambda x: x[:, ::2],
    "one row repeated": lambda x: x[:1].expand(9, x.shape[1]),
    "one column": lambda x: x[:, 1:2],
    "one column repeated": lambda x: x[:, :1].expand(x.shape[0], 9),
}


def in_float64(x, weights, upstream):
    """The sum and both gradients; of magnitudes, what their rounding is in proportion to."""
    return x.mv(weights), upstream.outer(weights), upstream.matmul(x)


@by_device
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", [(5, 6), (33, 1100), (1100, 40)])
def test_every_layout_gives_what_mv_gives_in_float64(layout, dtype, shape, device):
    make = maker(dtype, device)
    x = layout(make(*shape)).detach().requires_grad_()
    weights = make(x.shape[1]).requires_grad_()
    upstream = make(x.shape[0])
    y = weighted_row_sum(x, weights)
    got = torch.autograd.grad(y, (x, weights), upstream)
    inputs = [t.detach().cpu().double() for t in (x, weights, upstream)]
    right, sizes = in_float64(*inputs), in_float64(*(t.abs() for t in inputs))
    for one, other, size in zip((y, *got), right, sizes, strict=True):
        assert one.dtype == dtype
        assert one.shape == other.shape
        assert ((one.detach().cpu().double() - other).abs() <= 8 * torch.finfo(dtype).eps * size).all()


@by_device
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_no_rows_and_no_columns(shape, device):
    x, weights = torch.ones(shape, device=device, requires_grad=True), torch.ones(shape[1], device=device)
    weights.requires_grad_()
    y = weighted_row_sum(x, weights)
    assert torch.equal(y, torch.mv(x, weights))
    y.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))
    assert torch.equal(weights.grad, torch.full_like(weights, shape[0]))


@by_device
@pytest.mark.parametrize("of", [0, 1])
def test_one_gradient_alone_is_the_one_of_both(of, device):
    make = maker(torch.float64, device)
    inputs = [make(6, 5), make(5)]
    inputs[of].requires_grad_()
    (got,) = torch.autograd.grad(weighted_row_sum(*inputs).sin().sum(), inputs[of])
    (right,) = torch.autograd.grad(torch.mv(*inputs).sin().sum(), inputs[of])
    torch.testing.assert_close(got, right)
    assert torch.autograd.gradgradcheck(weighted_row_sum, inputs)


@by_device
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_in_its_row(bad, device):
    x = torch.ones(9, 70, device=device)
    x[4, 69] = bad
    y = weighted_row_sum(x, torch.ones(70, device=device)).cpu()
    torch.testing.assert_close(y, torch.mv(x, torch.ones(70, device=device)).cpu(), equal_nan=True)


def test_values_do_not_depend_on_the_number_of_threads():
    make, threads, found = maker(torch.float32), torch.get_num_threads(), []
    x, weights = make(1999, 150), make(150)
    leaves = x.requires_grad_(), weights.requires_grad_()
    try:
        for number in (1, 2, 3, 5):
            torch.set_num_threads(number)
            y, by_columns = weighted_row_sum(*leaves), weighted_row_sum(x.T.contiguous().T, weights)
            found.append((y, by_columns, *torch.autograd.grad(y.square().sum(), leaves)))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True))


@by_device
def test_vmap_with_weights_of_every_samples_own_and_with_several_gradients(device):
    make = maker(torch.float64, device)
    x, weights = make(3, 4, 5).requires_grad_(), make(3, 5)
    expected = torch.einsum("bij,bj->bi", x, weights)
    torch.testing.assert_close(torch.vmap(weighted_row_sum)(x, weights), expected)
    leaves = make(4, 5).requires_grad_(), make(5).requires_grad_()
    upstream = make(6, 4)
    rows = [
        torch.autograd.grad(function(*leaves), leaves, upstream, is_grads_batched=True)
        for function in (weighted_row_sum, torch.mv)
    ]
    for one, other in zip(*rows, strict=True):
        torch.testing.assert_close(one, other)


@compiled_only
@pytest.mark.parametrize(
    ("x", "weights", "words"),
    [
        (torch.zeros(3), torch.zeros(3), r"x of shape \(rows, columns\); received \(3,\)"),
        (torch.zeros(2, 3), torch.zeros(2), r"weights of shape \(3,\), one for each column.*; received \(2,\)"),
        (torch.zeros(2, 3), torch.zeros(3, 1), r"weights of shape \(3,\), one for each column.*; received \(3, 1\)"),
        (torch.zeros(2, 3), torch.zeros(3).double(), "weights of the dtype of x, float32; received float64"),
    ],
)
def test_wrong_inputs_are_refused_in_words(x, weights, words):
    with pytest.raises(RuntimeError, match=f"^weighted_row_sum: expected {words}"):
        weighted_row_sum(x, weights)
