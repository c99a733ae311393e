"""bias_gelu_dropout_residual: its mask, drawn twice and saved never; its sums; its refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.operators import bias_gelu_dropout_residual
from engine.operators.load import load
from engine.operators.philox import WORD, philox, random_words

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")


def kept(shape: tuple[int, ...], p: float, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The mask: gelu_tanh(16) is 16, so what is not 0 was kept."""
    x = torch.full(shape, 16.0, dtype=dtype)
    return bias_gelu_dropout_residual(x, torch.zeros(1, dtype=dtype), torch.zeros_like(x), p, seed=seed) != 0


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_known_answers_of_its_authors(counter: str, key: str, words: str):
    """Random123's kat_vectors, philox4x32 with 10 rounds."""
    got = philox(*(tuple(torch.tensor(int(word, 16)) for word in text.split()) for text in (counter, key)))
    assert " ".join(f"{word.item():08x}" for word in got) == words


@compiled_only
@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
def test_the_compiled_mask_is_the_reference_word_for_word(name: str):
    with instruction_set(name):
        for seed in (0, 1, 2**32, 2**63 - 1, -5):
            for p in (0.5, 0.1, 0.9, 1e-3):
                right = random_words(1001, torch.tensor(seed)) >= round(p * (WORD + 1))
                assert torch.equal(kept((1001,), p, seed), right)


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    use = torch.ops.atlas.instruction_set
    best = use()
    try:
        use(name)
    except RuntimeError:
        pytest.skip(f"this CPU has no {name}")
    try:
        yield
    finally:
        use(best)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_kept_is_within_five_sigma(p: float):
    count = 1 << 20
    share = kept((1024, 1024), p, seed=11).double().mean().item()
    assert abs(share - (1 - p)) < 5 * math.sqrt(p * (1 - p) / count)


def test_neighbours_rows_and_seeds_are_independent():
    """The share of equal pairs is that of independent coins, along rows, along columns and between seeds."""
    mask, other = kept((1024, 1024), 0.5, seed=1), kept((1024, 1024), 0.5, seed=2)
    for a, b in ((mask[:, 1:], mask[:, :-1]), (mask[1:], mask[:-1]), (mask, other)):
        assert abs((a == b).double().mean().item() - 0.5) < 5 * 0.5 / math.sqrt(a.numel())


def test_the_mask_depends_on_the_seed_and_the_place_only():
    mask = kept((37, 50), 0.4, seed=3)
    assert torch.equal(mask, kept((37, 50), 0.4, seed=3))
    assert not torch.equal(mask, kept((37, 50), 0.4, seed=4))
    assert torch.equal(mask.flatten(), kept((1850,), 0.4, seed=3))
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        assert torch.equal(mask, kept((37, 50), 0.4, seed=3, dtype=dtype))


def test_forward_and_backward_drop_the_same():
    x = torch.full((33, 70), 16.0, requires_grad=True)
    y = bias_gelu_dropout_residual(x, torch.zeros(70), torch.zeros(33, 70), 0.3)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert 0 < (y == 0).sum() < y.numel()
    assert torch.equal(y == 0, grad == 0)


@compiled_only
def test_one_thread_and_many_give_the_same_bits():
    x, bias, residual = torch.randn(500, 300), torch.randn(300, requires_grad=True), torch.randn(500, 300)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            y = bias_gelu_dropout_residual(x, bias, residual, 0.2, seed=9)
            results.append((y.detach(), *torch.autograd.grad(y.square().sum(), bias)))
    finally:
        torch.set_num_threads(before)
    for y, grad in results[1:]:
        assert torch.equal(y, results[0][0])
        assert torch.equal(grad, results[0][1])


def test_the_generator_of_torch_decides_and_is_left_alone_where_nothing_is_dropped():
    x, bias = torch.randn(40, 8), torch.randn(8)
    torch.manual_seed(5)
    first, second = (bias_gelu_dropout_residual(x, bias, x, 0.5) for _ in range(2))
    torch.manual_seed(5)
    assert torch.equal(first, bias_gelu_dropout_residual(x, bias, x, 0.5))
    assert not torch.equal(first, second)
    state = torch.get_rng_state()
    still = bias_gelu_dropout_residual(x, bias, x, 0.5, training=False)
    torch.testing.assert_close(still, x + F.gelu(x + bias, approximate="tanh"))
    assert torch.equal(torch.get_rng_state(), state)


def test_all_dropped_leaves_the_residual_even_of_nan():
    x, residual = torch.full((3, 5), torch.nan, requires_grad=True), torch.randn(3, 5)
    y = bias_gelu_dropout_residual(x, torch.zeros(5), residual, 1.0)
    if load().compiled:
        assert torch.equal(y, residual)


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
@pytest.mark.parametrize("training", [True, False])
def test_a_p_outside_is_refused_in_words(p: float, training: bool):
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="bias_gelu_dropout_residual: expected p from 0 to 1; received"):
        bias_gelu_dropout_residual(x, torch.zeros(3), x, p, training=training)


@compiled_only
@pytest.mark.parametrize(
    ("bias", "residual", "seed", "words"),
    [
        (torch.zeros(4), torch.zeros(2, 3), 0, r"expected bias of x's last dimension.*received \(4,\)"),
        (torch.zeros(2, 3), torch.zeros(2, 3), 0, r"expected bias of x's last dimension.*received \(2, 3\)"),
        (torch.zeros(3), torch.zeros(3), 0, r"expected residual of the shape of x.*received \(3,\)"),
        (torch.zeros(3).double(), torch.zeros(2, 3), 0, "expected bias of the dtype of x.*received float64"),
        (torch.zeros(3), torch.zeros(2, 3), torch.tensor(1.0), "expected seed as one int64.*received float32"),
        (torch.zeros(3), torch.zeros(2, 3), torch.tensor([1, 2]), r"expected seed as one int64.*received int64 \(2,\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(bias: Tensor, residual: Tensor, seed: Tensor, words: str):
    with pytest.raises(RuntimeError, match=f"^bias_gelu_dropout_residual: {words}"):
        bias_gelu_dropout_residual(torch.zeros(2, 3), bias, residual, 0.5, seed=seed)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (1, 1), (2, 3000)])
def test_every_shape_with_a_bias_of_its_last_dimension(shape: tuple[int, ...]):
    x, residual = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(2))
    bias = torch.randn(shape[-1:], dtype=torch.float64, requires_grad=True)
    y = bias_gelu_dropout_residual(x, bias, residual, 0.0)
    right = residual + F.gelu(x + bias, approximate="tanh")
    torch.testing.assert_close(y, right)
    leaves, upstream = (x, bias, residual), torch.randn_like(y)
    torch.testing.assert_close(torch.autograd.grad(y, leaves, upstream), torch.autograd.grad(right, leaves, upstream))


def test_autocast_takes_the_widest_dtype_as_the_composition_does():
    linear = nn.Linear(6, 8, bias=False)
    bias, residual = nn.Parameter(torch.randn(8)), torch.randn(4, 8)
    with torch.autocast("cpu", torch.bfloat16):
        x = linear(torch.randn(4, 6))
        y = bias_gelu_dropout_residual(x, bias, residual, 0.0)
        right = residual + F.gelu(x + bias, approximate="tanh")
    assert (x.dtype, y.dtype) == (torch.bfloat16, right.dtype)
    torch.testing.assert_close(y, right)
    y.sum().backward()
    assert (linear.weight.grad.dtype, bias.grad.dtype) == (torch.float32, torch.float32)


@pytest.mark.slow
def test_a_compiled_call_draws_a_new_mask_every_time():
    x, bias = torch.full((64, 32), 16.0), torch.zeros(32)
    compiled = torch.compile(lambda: bias_gelu_dropout_residual(x, bias, x, 0.5), fullgraph=True, backend="aot_eager")
    first, second = compiled() == 16, compiled() == 16
    assert not torch.equal(first, second)
    assert abs(first.double().mean().item() - 0.5) < 5 * 0.5 / math.sqrt(x.numel())
