"""trace_broadcast: strides, bytes, gradients, refusals and fixes are what PyTorch gives."""

from __future__ import annotations

import random
import warnings

import pytest
import torch

from engine import run
from engine.broadcasting.results import Broadcast
from engine.broadcasting.spec import BroadcastSpec, Operand
from tests.broadcasting.test_rule import random_shapes


def traced(operation: str, *operands: tuple[int, ...] | Operand, **settings) -> Broadcast:
    given = tuple(operand if isinstance(operand, Operand) else Operand(operand) for operand in operands)
    return run(BroadcastSpec(operation=operation, operands=given, **settings), inline=True)


def test_expanded_strides_new_and_stretched_dims_are_those_of_broadcast_tensors():
    chooser = random.Random(5)
    fitting = 0
    for _ in range(60):
        shapes = random_shapes(chooser)
        outcome = traced("add", *shapes)
        if outcome.shape is None:
            continue
        fitting += 1
        expected = torch.broadcast_tensors(*map(torch.zeros, shapes))
        for place, tensor in zip(outcome.operands, expected, strict=True):
            assert place.expanded_stride == tensor.stride()
            assert place.expanded_shape == tuple(tensor.shape)
            for dim in place.stretched_dims:
                assert tensor.stride(dim) == 0
            assert len(place.new_dims) == tensor.dim() - len(place.shape)
    assert fitting > 20


@pytest.mark.parametrize(
    ("operation", "operands"),
    [
        ("add", ((3, 1, 5), (4, 1))),
        ("sub", ((3, 1, 5), (4, 1))),
        ("mul", ((3, 1), (4,), (2, 1, 1))),
        ("mul", (Operand((3, 1), "complex64"), Operand((4,), "complex64"))),
        ("mul", (Operand((3, 1)), Operand((), "Python float"))),
        ("where", (Operand((3, 1), "bool"), (4,), ())),
        ("mse_loss", ((4, 1), (4,))),
        ("matmul", ((2, 1, 3, 4), (5, 4, 6))),
        ("matmul", ((4,), (5, 4, 6))),
        ("matmul", ((5, 3, 4), (4,))),
        ("matmul", ((4,), (4,))),
    ],
)
def test_gradients_are_summed_back_to_the_operands_shape(operation, operands):
    outcome = traced(operation, *operands)
    assert outcome.error is None
    with_gradient = [place for place in outcome.operands if place.gradient is not None]
    assert len(with_gradient) >= 1
    for place in with_gradient:
        assert place.gradient.shape == place.shape
        assert place.gradient.max_abs_error < 1e-4
        assert place.gradient.summed_dims == tuple(sorted((*place.new_dims, *place.stretched_dims)))


def test_expand_adds_no_bytes_and_repeat_all_of_them():
    outcome = traced("add", (3, 1, 5), (4, 1))
    a, b = outcome.operands
    assert a.expanded_storage_bytes == a.storage_bytes == 3 * 5 * 4
    assert a.repeat_bytes == torch.zeros(3, 1, 5).repeat(1, 4, 1).untyped_storage().nbytes() == 240
    assert b.repeat_bytes == torch.zeros(4, 1).repeat(3, 1, 5).untyped_storage().nbytes() == 240
    assert outcome.repeat_bytes == 480
    assert outcome.output_bytes == 240


def test_incompatible_shapes_carry_pytorchs_words_and_fixes_that_fit():
    outcome = traced("add", (2, 3, 4, 4), (3,))
    assert outcome.error.message == (
        "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 3"
    )
    best = outcome.fixes[0]
    assert (best.code, best.result_shape, best.grows) == ("b[:, None, None]", (2, 3, 4, 4), False)


def test_the_words_are_the_same_for_sizes_too_large_to_make():
    large = traced("add", (40_000, 40_000), (30_000,))
    assert not large.computed
    with pytest.raises(RuntimeError) as caught:
        torch.zeros(1, 1).expand(40_000, 40_000) + torch.zeros(1).expand(30_000)
    assert large.error.message == str(caught.value)


def test_a_result_too_large_to_make_is_read_from_the_meta_device():
    outcome = traced("sub", (100_000, 1), (100_000,))
    assert (outcome.shape, outcome.output_bytes, outcome.computed) == ((100_000, 100_000), 40_000_000_000, False)
    assert outcome.grows
    assert outcome.operand_bytes == 800_000


def test_in_place_may_not_grow_its_target():
    outcome = traced("add", (4,), (3, 4))
    grow, fit = outcome.in_place
    assert (grow.code, fit.code) == ("a.add_(b)", "b.add_(a)")
    assert grow.error.message == "output with shape [4] doesn't match the broadcast shape [3, 4]"
    assert fit.error is None


def test_a_write_into_an_expanded_tensor_is_refused_or_reaches_every_element_of_the_address():
    add, assign = traced("add", (3, 1, 5), (3, 4, 5)).writes
    assert "more than one element of the written-to tensor refers to a single memory location" in add.error.message
    assert assign.error is None
    assert assign.changed == 4


def test_the_loss_bug_warns_and_gives_another_number():
    outcome = traced("mse_loss", (4, 1), (4,))
    assert outcome.shape == (4, 4)
    assert "likely lead to incorrect results due to broadcasting" in outcome.warnings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs, target = torch.arange(1.0, 5.0).reshape(4, 1), torch.arange(1.0, 5.0)
        assert outcome.loss == torch.nn.MSELoss()(inputs, target).item() == 2.5
    assert outcome.loss_same_shape == 0.0


@pytest.mark.parametrize(
    ("operands", "dtype"),
    [
        ((Operand((3,), "int32"), Operand((), "Python float")), "float32"),
        ((Operand((3,), "float16"), Operand((), "float64")), "float16"),
        ((Operand((3,), "uint8"), Operand((3,), "int8")), "int16"),
        ((Operand((3,), "bool"), Operand((), "Python int")), "int64"),
    ],
)
def test_the_result_dtype_is_torch_result_type(operands, dtype):
    outcome = traced("mul", *operands)
    assert outcome.dtype == outcome.result_type == dtype


@pytest.mark.parametrize(
    ("operation", "operands", "words"),
    [
        ("matmul", (Operand((3, 4)), Operand((4, 2), "float64")), "dtype"),
        ("sub", (Operand((3,), "bool"), Operand((3,), "bool")), "bool"),
        ("where", ((3, 1), (4,), ()), "boolean tensor"),
        ("matmul", ((3, 5), (4, 6)), "cannot be multiplied (3x5 and 4x6)"),
        ("matmul", ((), (4, 6)), "at least 1D"),
    ],
)
def test_what_pytorch_refuses_is_said_in_its_words(operation, operands, words):
    outcome = traced(operation, *operands)
    assert words in outcome.error.message
    assert outcome.shape is None


@pytest.mark.parametrize("size", [0, 1])
def test_a_size_of_zero_or_one_is_no_exception(size):
    outcome = traced("mul", (3, size), (1,))
    assert outcome.shape == (3, size)
    assert all(place.gradient is not None for place in outcome.operands)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Operand((-1,)),
        lambda: Operand((1,) * 9),
        lambda: Operand((1 << 30, 1 << 30)),
        lambda: Operand((3,), "Python int"),
        lambda: BroadcastSpec(operation="where"),
        lambda: BroadcastSpec(operands=(Operand((3,)),)),
        lambda: BroadcastSpec(operands=(Operand((), "Python int"), Operand((), "Python int"))),
        lambda: BroadcastSpec(operands=(Operand((1 << 40, 1)), Operand((1 << 40,)))),
    ],
)
def test_nonsense_is_refused_in_words(build):
    with pytest.raises(ValueError, match=r"received|would give") as caught:
        build()
    assert len(str(caught.value).split(".")) >= 3
