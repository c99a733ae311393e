"""The optimizers over many steps against torch.optim, over any layout, and every list they must refuse."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
import torch

from engine.operators import adamw_step_, sgd_step_
from engine.operators.load import load

STEPS = 10
compiled_only = pytest.mark.skipif(not load().compiled, reason="the reference gives PyTorch's own messages")

ALLOWED = 16
"""Difference after 10 steps in eps of the dtype, of the largest value: PyTorch rounds in another order."""


def layouts(generator: torch.Generator) -> list[torch.Tensor]:
    """Contiguous, transposed, channels_last, a column of a wider one, empty and 0-d."""

    def make(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return [
        make(7, 5),
        make(6, 4).t(),
        make(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        make(9, 4)[:, 1],
        make(0, 3),
        make(),
        make(300),
    ]


def parameters(dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    """Their layouts kept: `to` and `clone` would close the gaps of a column."""
    found = []
    for tensor in layouts(torch.Generator().manual_seed(seed)):
        if tensor.dim() == 1 and not tensor.is_contiguous():
            wide = torch.zeros(tensor.numel(), 4, dtype=dtype)
            wide[:, 1] = tensor
            found.append(wide[:, 1])
        else:
            found.append(tensor.to(dtype))
    return found


def gradients(step: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Of other layouts than the parameters."""
    return [grad.contiguous() for grad in parameters(dtype, seed=100 + step)]


def assert_near(ours: list[torch.Tensor], theirs: list[torch.Tensor], dtype: torch.dtype) -> None:
    for got, expected in zip(ours, theirs, strict=True):
        if expected.numel():
            size = max(1.0, expected.abs().max().item())  # smaller ones came about by cancellation
            assert (got - expected).abs().max().item() <= ALLOWED * torch.finfo(dtype).eps * size


SGD = [
    {
        "lr": 0.1,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": decay,
        "nesterov": nesterov,
        "maximize": up,
    }
    for momentum, dampening, decay, nesterov, up in itertools.product(
        (0.0, 0.9), (0.0, 0.4), (0.0, 0.1), (False, True), (False, True)
    )
    if not nesterov or (momentum and not dampening)
]
ADAMW = [
    {"lr": 0.05, "eps": eps, "weight_decay": decay, "amsgrad": amsgrad, "maximize": up}
    for eps, decay, amsgrad, up in itertools.product((1e-8, 0.1), (0.0, 0.1), (False, True), (False, True))
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("settings", SGD, ids=str)
def test_sgd_is_pytorchs_step_by_step(settings, dtype):
    ours, theirs = parameters(dtype), parameters(dtype)
    buffers = [torch.full_like(param, torch.nan) for param in ours] if settings["momentum"] else []
    optimizer = torch.optim.SGD(theirs, foreach=False, **settings)
    for step in range(STEPS):
        grads = gradients(step, dtype)
        sgd_step_(ours, grads, buffers, first=step == 0, **settings)
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = grad
        optimizer.step()
        assert_near(ours, theirs, dtype)
        if buffers:
            assert_near(buffers, [optimizer.state[param]["momentum_buffer"] for param in theirs], dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("settings", ADAMW, ids=str)
def test_adamw_is_pytorchs_step_by_step(settings, dtype):
    ours, theirs = parameters(dtype), parameters(dtype)
    averages = [[torch.zeros_like(param) for param in ours] for _ in range(3 if settings["amsgrad"] else 2)]
    optimizer = torch.optim.AdamW(theirs, foreach=False, **settings)
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    rest = {name: value for name, value in settings.items() if name != "amsgrad"}
    for step in range(STEPS):
        grads = gradients(step, dtype)
        adamw_step_(ours, grads, *averages, step=step + 1, **rest)
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = grad
        optimizer.step()
        assert_near(ours, theirs, dtype)
        for name, kept in zip(names, averages, strict=False):
            assert_near(kept, [optimizer.state[param][name] for param in theirs], dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_16_bit_parameters_follow_the_fused_step(dtype):
    """PyTorch's fused AdamW also computes in float32 and rounds once."""
    ours, theirs = parameters(dtype), [param.contiguous().clone() for param in parameters(dtype)]
    exp_avgs, squares = ([torch.zeros_like(param) for param in ours] for _ in range(2))
    optimizer = torch.optim.AdamW(theirs, lr=0.05, fused=True)
    for step in range(STEPS):
        grads = gradients(step, dtype)
        adamw_step_(ours, grads, exp_avgs, squares, step=step + 1, lr=0.05)
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = grad
        optimizer.step()
    for got, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got.contiguous(), expected, rtol=8 * torch.finfo(dtype).eps, atol=8e-3)


def test_dtypes_may_be_mixed():
    mixed = [torch.ones(3), torch.ones(4, dtype=torch.float64), torch.ones(2, dtype=torch.bfloat16)]
    sgd_step_(mixed, [torch.ones_like(param) for param in mixed], lr=0.5)
    assert all(torch.equal(param, torch.full_like(param, 0.5)) for param in mixed)


def test_threads_change_nothing():
    def stepped(threads: int) -> list[torch.Tensor]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            generator = torch.Generator().manual_seed(0)
            params = [*parameters(torch.float32), torch.randn(100_000, generator=generator)]
            grads = [*gradients(0, torch.float32), torch.randn(100_000, generator=generator)]
            averages = [[torch.zeros_like(param) for param in params] for _ in range(2)]
            adamw_step_(params, grads, *averages, step=1)
            return params
        finally:
            torch.set_num_threads(before)

    assert all(torch.equal(one, two) for one, two in zip(stepped(1), stepped(2), strict=True))


def test_nothing_to_do_is_fine():
    sgd_step_([], [], lr=0.1)
    adamw_step_([], [], [], [], step=1)


def test_what_is_not_finite_stays_so_where_pytorch_keeps_it():
    values = torch.tensor([torch.inf, -torch.inf, torch.nan, 1.0])
    for settings in ({"weight_decay": 0.0}, {"weight_decay": 0.1}):
        ours, theirs = values.clone(), values.clone()
        sgd_step_([ours], [torch.ones(4)], lr=0.1, **settings)
        optimizer = torch.optim.SGD([theirs], lr=0.1, foreach=False, **settings)
        theirs.grad = torch.ones(4)
        optimizer.step()
        torch.testing.assert_close(ours, theirs, equal_nan=True)


def test_autograd_notices_that_a_saved_tensor_was_stepped():
    weight = torch.ones(3, requires_grad=True)
    loss = weight.square().sum()
    sgd_step_([weight], [torch.ones(3)], lr=0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_versions_rise_for_all_that_is_written_and_only_for_that():
    tensors = [[torch.ones(2)] for _ in range(4)]
    adamw_step_(*tensors, step=1)
    assert [versions[0]._version for versions in tensors] == [1, 0, 1, 1]


def ones(*shapes: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.ones(shape, dtype=dtype) for shape in shapes]


shared = torch.ones(8)
square = torch.ones(3, 3)
REFUSED = {
    "fewer grads": (lambda: sgd_step_(ones(2, 3), ones(2), lr=0.1), "expected as many grads as params, 2; received 1"),
    "buffers missing": (
        lambda: sgd_step_(ones(2), ones(2), lr=0.1, momentum=0.9),
        "expected as many momentum_buffers as params, 1; received 0",
    ),
    "buffers unused": (
        lambda: sgd_step_(ones(2), ones(2), ones(2), lr=0.1),
        "expected no momentum_buffers without momentum; received 1",
    ),
    "shape": (
        lambda: sgd_step_(ones(2, 3), ones(2, 4), lr=0.1),
        r"expected grads\[1\] of the shape of params\[1\], \(3,\); received \(4,\)",
    ),
    "dtype": (
        lambda: sgd_step_(ones(2), ones(2, dtype=torch.float64), lr=0.1),
        r"expected grads\[0\] of the dtype of params\[0\], float32; received float64",
    ),
    "integers": (
        lambda: adamw_step_(*(ones(2, dtype=torch.int64) for _ in range(4)), step=1),
        "expected params of dtype float32, .*; received int64",
    ),
    "twice": (
        lambda: sgd_step_([shared, shared], ones(8, 8), lr=0.1),
        r"share no memory .*; received params\[\d\] and params\[\d\] in the same memory",
    ),
    "overlapping views": (
        lambda: sgd_step_([shared[:5], shared[4:]], ones(5, 4), lr=0.1),
        r"received params\[0\] and params\[1\] in the same memory",
    ),
    "gradient in a parameter": (
        lambda: sgd_step_([shared[:4]], [shared[2:6]], lr=0.1),
        r"received params\[0\] and grads\[0\] in the same memory",
    ),
    "one column twice": (
        lambda: sgd_step_([square[:, 0]], [square[:, 0]], lr=0.1),
        r"received params\[0\] and grads\[0\] in the same memory",
    ),
    "columns between each other": (
        lambda: sgd_step_([square[:, 0]], [square[:, 1]], lr=0.1),
        r"received params\[0\] and grads\[0\], whose memory ranges overlap or interleave: clone one of them",
    ),
    "elements in one place": (
        lambda: sgd_step_([shared.as_strided((3, 3), (1, 1))], [torch.ones(3, 3)], lr=0.1),
        r"expected params\[0\] with memory of its own .*; received one of shape \(3, 3\) whose strides place several",
    ),
    "elements in one place, far apart": (
        lambda: sgd_step_([torch.ones(11).as_strided((4, 2), (2, 4))], [torch.ones(4, 2)], lr=0.1),
        r"received one of shape \(4, 2\) whose strides place several elements in the same memory",
    ),
    "expanded": (
        lambda: sgd_step_([torch.ones(1).expand(4)], ones(4), lr=0.1),
        r"expected params\[0\] with memory of its own for every element; received one that is expanded",
    ),
    "nesterov alone": (
        lambda: sgd_step_(ones(2), ones(2), lr=0.1, nesterov=True),
        "expected momentum above 0 and dampening 0 with nesterov; received momentum 0, dampening 0",
    ),
    "lr": (lambda: sgd_step_(ones(2), ones(2), lr=-1.0), "expected lr of 0 or more; received -1"),
    "beta": (
        lambda: adamw_step_(*(ones(2) for _ in range(4)), step=1, beta1=1.0),
        "expected beta1 from 0 to below 1; received 1",
    ),
    "step": (lambda: adamw_step_(*(ones(2) for _ in range(4)), step=0), "expected step of 1 or more; received 0"),
}


@compiled_only
@pytest.mark.parametrize("what", REFUSED)
def test_wrong_lists_are_refused_in_words(what):
    call, said = REFUSED[what]
    with pytest.raises(RuntimeError, match=f"(sgd|adamw)_step_: .*{said}"):
        call()


@compiled_only
def test_a_refusal_leaves_everything_as_it_was():
    params = ones(3, 3)
    with pytest.raises(RuntimeError):
        sgd_step_(params, ones(3, 4), lr=0.1)
    assert all(torch.equal(param, torch.ones(3)) for param in params)


def test_neighbours_in_one_buffer_and_a_gradient_used_twice_are_fine():
    flat, grad = torch.ones(8), torch.ones(4)
    sgd_step_([flat[:4], flat[4:]], [grad, grad], lr=0.5)
    assert torch.equal(flat, torch.full((8,), 0.5))


def test_strides_that_cross_without_meeting_are_fine():
    """Places 0, 2, 4 and 3, 5, 7: neither stride steps over the other, yet no two elements are one."""
    memory = torch.ones(8)
    sgd_step_([memory.as_strided((3, 2), (2, 3))], [torch.ones(3, 2)], lr=0.5)
    assert memory.tolist() == [0.5, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 0.5]


def saved_then_stepped(weight, grad):
    loss = (weight * weight).sum()
    sgd_step_([weight], [grad], lr=0.1)
    return loss


def saved_then_stepped_by_adamw(weight, grad):
    loss = (weight * weight).sum()
    adamw_step_([weight], [grad], [grad * 0], [grad * 0], step=1)
    return loss


def stepped_then_saved(weight, grad):
    sgd_step_([weight], [grad], lr=0.1)
    return (weight * weight).sum()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.filterwarnings("ignore:Error detected in MulBackward0")
@pytest.mark.parametrize("function", [saved_then_stepped, saved_then_stepped_by_adamw])
def test_a_step_after_a_save_is_no_silent_wrong_gradient(function, compiled):
    weight = torch.ones(1, requires_grad=True)
    call = torch.compile(function, fullgraph=True, backend="aot_eager") if compiled else function
    with pytest.raises(Exception, match="has been modified by an inplace operation"):
        call(weight, torch.ones(1)).backward()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_save_after_the_step_has_the_gradient_of_the_new_value(compiled):
    weight = torch.ones(1, requires_grad=True)
    call = torch.compile(stepped_then_saved, fullgraph=True, backend="aot_eager") if compiled else stepped_then_saved
    call(weight, torch.ones(1)).backward()
    torch.testing.assert_close(weight.grad, torch.tensor([1.8]))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_compiled_step_is_the_step(requires_grad):
    params, expected = [[torch.full((3,), 2.0, requires_grad=requires_grad), torch.ones(2, 2)] for _ in range(2)]
    grads, buffers = ones(3, (2, 2)), ones(3, (2, 2))
    step = partial(sgd_step_, lr=0.1, momentum=0.9)
    torch.compile(step, fullgraph=True, backend="aot_eager")(params, grads, [buffer.clone() for buffer in buffers])
    step(expected, grads, buffers)
    assert all(torch.equal(a, b) for a, b in zip(params, expected, strict=True))
