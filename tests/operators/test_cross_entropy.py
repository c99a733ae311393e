"""What is particular to cross_entropy: ignored rows, classes out of range, hard logits, empty inputs, autocast."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from engine.operators import cross_entropy
from engine.operators.load import load
from tests.operators.case import DEVICES, maker

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
by_device = pytest.mark.parametrize("device", DEVICES)


def loss_and_gradient(function, logits, target, **options):
    leaf = logits.detach().clone().requires_grad_()
    loss = function(leaf, target, **options)
    loss.sum().backward()
    return loss.detach(), leaf.grad


def assert_same_as_pytorch(logits, target, *, rtol=1e-5, atol=1e-6, **options):
    """In float64 by PyTorch; NaN and infinities at the same places."""
    got = loss_and_gradient(cross_entropy, logits, target, **options)
    expected = loss_and_gradient(F.cross_entropy, logits.double().cpu(), target.cpu(), **options)
    for one, right in zip(got, expected, strict=True):
        torch.testing.assert_close(one.cpu().double(), right, rtol=rtol, atol=atol, equal_nan=True)


@by_device
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ignored_rows_count_nowhere(smoothing, reduction, device):
    logits = maker(torch.float32, device)(5, 9)
    target = torch.tensor([3, -100, 8, -100, 0], device=device)
    assert_same_as_pytorch(logits, target, label_smoothing=smoothing, reduction=reduction)
    assert_same_as_pytorch(logits, target.clamp(min=3), label_smoothing=smoothing, reduction=reduction, ignore_index=3)


@by_device
@pytest.mark.parametrize(("reduction", "loss"), [("mean", math.nan), ("sum", 0.0)])
def test_where_every_row_is_ignored_the_mean_is_of_nothing(reduction, loss, device):
    target = torch.full((3,), -100, device=device)
    logits = maker(torch.float32, device)(3, 4)
    got, grad = loss_and_gradient(cross_entropy, logits, target, reduction=reduction)
    assert got.isnan() if math.isnan(loss) else got == loss
    assert torch.equal(grad, torch.zeros_like(grad))
    assert_same_as_pytorch(logits, target, reduction=reduction)


@by_device
def test_an_ignored_row_may_hold_anything(device):
    logits = torch.tensor([[math.nan, math.inf], [1.0, 2.0]], device=device)
    loss, grad = loss_and_gradient(cross_entropy, logits, torch.tensor([-100, 1], device=device))
    assert loss.item() == pytest.approx(math.log1p(math.exp(-1.0)))
    assert torch.equal(grad[0].cpu(), torch.zeros(2))


HARD = {
    "large": [1e4, -1e4, 9999.0, 9998.5],
    "all large": [3e4, 3e4, 3e4 - 1, 3e4 - 2],
    "masked": [0.5, -math.inf, 2.0, -math.inf],
    "target masked": [-math.inf, 1.0, 2.0, 3.0],
    "all masked": [-math.inf] * 4,
    "one infinite": [math.inf, 0.0, 1.0, 2.0],
    "NaN": [0.0, math.nan, -math.inf, 1.0],
    "far below": [0.0, -80.0, -100.0, -1e30],
    "equal": [0.0, -0.0, 0.0, 0.0],
}


@by_device
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("row", HARD.values(), ids=HARD)
def test_hard_logits_give_what_pytorch_gives_in_float64(row, smoothing, device):
    target = torch.tensor([0, 1], device=device)
    logits = torch.tensor([row, [0.1, 0.2, 0.3, 0.4]], device=device)
    assert_same_as_pytorch(logits, target, label_smoothing=smoothing, reduction="none")


@by_device
@pytest.mark.parametrize("classes", [1, 2, 15, 16, 17, 4095, 4096, 4097, 9000])
def test_every_length_of_row_is_summed_whole(classes, device):
    """Around the widths of registers and of the tiles of classes; the largest logit in every part."""
    logits = maker(torch.float32, device)(4, classes)
    for row, at in enumerate((0, classes // 2, classes - 1)):
        logits[row, at] = 30.0
    target = torch.tensor([0, classes - 1, classes // 3, classes // 2], device=device)
    assert_same_as_pytorch(logits, target, label_smoothing=0.1)


@by_device
def test_gradients_keep_their_digits_where_logits_are_in_the_thousands(device):
    """float32 keeps 1e4 to 1e-3 only: one float as logsumexp would leave 3 digits of the softmax."""
    logits = (maker(torch.float32, device)(8, 50) + 1e4).requires_grad_()
    target = torch.arange(8, device=device)
    (grad,) = torch.autograd.grad(cross_entropy(logits, target), logits)
    wide = logits.detach().double().cpu().requires_grad_()
    (right,) = torch.autograd.grad(F.cross_entropy(wide, target.cpu()), wide)
    torch.testing.assert_close(grad.cpu().double(), right, rtol=2e-6, atol=1e-9)


@by_device
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [1e12, 1e14, 1e16, 1e20, -1e20, 1e38])
def test_equal_logits_are_even_odds_however_large(size, dtype, smoothing, device):
    """By hand: log(50), and 1/50 less the target's share."""
    logits, target = torch.full((2, 50), size, dtype=dtype, device=device), torch.tensor([3, 49], device=device)
    loss, grad = loss_and_gradient(cross_entropy, logits, target, label_smoothing=smoothing)
    rounding = torch.finfo(dtype).eps
    assert loss.item() == pytest.approx(math.log(50), rel=max(rounding, 1e-6))
    right = torch.full((2, 50), (1 - smoothing) / 100, dtype=torch.float64)
    right[[0, 1], [3, 49]] -= (1 - smoothing) / 2
    torch.testing.assert_close(grad.cpu().double(), right, rtol=2 * max(rounding, 1e-6), atol=0)


@by_device
@pytest.mark.parametrize("classes", [1000, 5000])
@pytest.mark.parametrize("offset", [0.0, 3e4, 1e6, 1e12])
def test_an_offset_takes_no_digits_of_a_smoothed_loss(offset, classes, device):
    logits = maker(torch.float32, device)(64, classes) + offset
    logits[:, -1] += 4  # the largest is found last
    target = torch.arange(64, device=device)
    assert_same_as_pytorch(logits, target, rtol=1e-6, atol=2e-8, label_smoothing=0.1, reduction="none")


@by_device
def test_the_ends_of_float32_do_not_overflow(device):
    logits = torch.tensor([[3e38, -3e38, 0.0, 1.0], [-3e38, -3e38, -3e38, 3e38]], device=device)
    target = torch.tensor([0, 3], device=device)
    assert_same_as_pytorch(logits, target, label_smoothing=0.1, reduction="none")


@by_device
def test_a_smoothed_loss_is_infinite_wherever_the_masked_logits_lie(device):
    logits = torch.zeros(2, 9000, device=device)
    logits[0, :5000], logits[1, 4000:] = -math.inf, -math.inf
    target = torch.tensor([6000, 1], device=device)
    assert_same_as_pytorch(logits, target, label_smoothing=0.1, reduction="none")


def test_second_derivatives_of_large_logits():
    logits = torch.full((2, 5), 1e20, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 4])
    (grad,) = torch.autograd.grad(cross_entropy(logits, target, reduction="sum"), logits, create_graph=True)
    (second,) = torch.autograd.grad(grad[0, 1], logits)
    right = torch.tensor([[-0.04, 0.16, -0.04, -0.04, -0.04], [0.0] * 5], dtype=torch.float64)
    torch.testing.assert_close(second, right)


@by_device
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_no_rows_and_no_classes(reduction, device):
    target = torch.zeros(0, dtype=torch.int64, device=device)
    for classes in (3, 0):
        assert_same_as_pytorch(torch.zeros(0, classes, device=device), target, reduction=reduction)


@compiled_only
def test_a_class_out_of_range_is_named_with_its_row():
    logits = torch.zeros(3, 4)
    for wrong in (4, -1, 10**12):
        words = rf"cross_entropy: expected classes from 0 to 3 or ignore_index -100; received target\[1\] = {wrong}"
        with pytest.raises(RuntimeError, match=words):
            cross_entropy(logits, torch.tensor([0, wrong, 1]))
    with pytest.raises(RuntimeError, match=r"ignore_index -100, as there are no classes; received target\[0\] = 0"):
        cross_entropy(torch.zeros(1, 0), torch.tensor([0]))


@compiled_only
@pytest.mark.parametrize(
    ("logits", "target", "options", "words"),
    [
        (
            torch.zeros(2, 3, 4),
            torch.zeros(2, 4).long(),
            {},
            r"logits of shape \(rows, classes\); received \(2, 3, 4\)",
        ),
        (torch.zeros(3), torch.tensor(0), {}, r"logits of shape \(rows, classes\); received \(3,\)"),
        (torch.zeros(2, 3), torch.zeros(2, 3), {}, "int64, a class per row; received float32"),
        (torch.zeros(2, 3), torch.zeros(2).int(), {}, "int64, a class per row; received int32"),
        (torch.zeros(2, 3), torch.zeros(4).long(), {}, r"target of shape \(2,\).*; received \(4,\)"),
        (torch.zeros(2, 3), torch.zeros(2).long(), {"label_smoothing": 1.5}, "between 0 and 1; received 1.5"),
        (torch.zeros(2, 3), torch.zeros(2).long(), {"label_smoothing": math.nan}, "between 0 and 1; received nan"),
    ],
)
def test_wrong_inputs_are_refused_in_words(logits, target, options, words):
    with pytest.raises(RuntimeError, match=f"^cross_entropy: expected .*{words}"):
        cross_entropy(logits, target, **options)


def test_an_unknown_reduction_is_refused_in_words():
    with pytest.raises(ValueError, match='"mean", "sum" or "none"; received \'average\''):
        cross_entropy(torch.zeros(2, 3), torch.zeros(2).long(), reduction="average")


@by_device
def test_autocast_computes_in_float32_as_pytorch_does(device):
    logits, target = maker(torch.bfloat16, device)(4, 9), torch.tensor([0, 1, 2, 3], device=device)
    with torch.autocast(device, torch.bfloat16):
        got, right = cross_entropy(logits, target), F.cross_entropy(logits, target)
    assert got.dtype == right.dtype == torch.float32
    torch.testing.assert_close(got, right)


@by_device
def test_16_bits_are_added_up_in_float32(device):
    """Thousands of exponentials of one size: a sum in bfloat16 stops growing at 256 of them."""
    loss = cross_entropy(torch.zeros(2, 8192, dtype=torch.bfloat16, device=device), torch.tensor([0, 5], device=device))
    assert loss.item() == torch.tensor(math.log(8192)).bfloat16().item()


@by_device
def test_rows_apart_in_memory_are_not_copied_and_give_the_same(device):
    wide, target = maker(torch.float32, device)(6, 40), torch.arange(6, device=device)
    for logits in (wide[:, 3:12], wide[::2, :9].repeat(2, 1), wide[:1, :9].expand(6, 9), wide.T[:9].T):
        assert_same_as_pytorch(logits, target[:6])


def test_the_gradient_does_not_depend_on_the_number_of_threads():
    logits, target = maker(torch.float32)(64, 3000), torch.arange(64)
    found, threads = [], torch.get_num_threads()
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(loss_and_gradient(cross_entropy, logits, target))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True))


@by_device
def test_vmap_over_logits_and_over_targets(device):
    logits, target = maker(torch.float64, device)(3, 4, 5), torch.randint(0, 5, (3, 4), device=device)
    both = torch.vmap(cross_entropy)(logits, target)
    torch.testing.assert_close(both, torch.stack([F.cross_entropy(x, t) for x, t in zip(logits, target, strict=True)]))
    one = torch.vmap(cross_entropy, in_dims=(None, 0))(logits[0], target)
    torch.testing.assert_close(one, torch.stack([F.cross_entropy(logits[0], t) for t in target]))


@by_device
def test_several_upstream_gradients_at_once(device):
    logits, target = maker(torch.float64, device)(4, 5).requires_grad_(), torch.tensor([0, 4, 2, 1], device=device)
    upstream = torch.eye(4, dtype=torch.float64, device=device)
    rows = []
    for function in (cross_entropy, F.cross_entropy):
        losses = function(logits, target, reduction="none")
        rows += torch.autograd.grad(losses, logits, upstream, is_grads_batched=True)
    torch.testing.assert_close(rows[0], rows[1])
