"""trace_layout: what each step did, what it copied, what PyTorch said, and what the storages hold."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings

from engine import run
from engine.storage.apply import apply_step
from engine.storage.build import build_chain, build_tensor, meta_chain, price_layout
from engine.storage.chain import parse_chain
from engine.storage.dtypes import DTYPES
from engine.storage.operations import OPERATIONS, Step
from engine.storage.spec import LayoutSpec
from engine.storage.trace import Chain
from tests.storage.chains import chains


def trace(chain="", **fields):
    return run(LayoutSpec(steps=parse_chain(chain), **fields), inline=True)


def kinds(result):
    return [(outcome.kind, outcome.copied_bytes) for outcome in result.outcomes]


@settings(max_examples=120, deadline=None)
@given(chains())
def test_the_badge_is_the_comparison_of_storages(chain):
    """By the address of the storage where it has one; a storage without bytes has none."""
    shape, steps = chain
    result = run(LayoutSpec(shape=shape, steps=steps), inline=True)
    tensors = [build_tensor(LayoutSpec(shape=shape))]
    for step in steps:
        tensors.append(apply_step(tensors[-1], step))
    for outcome, before, after in zip(result.outcomes, tensors[:-1], tensors[1:], strict=True):
        assert (outcome.kind == "same") == (after is before)
        if after.untyped_storage().nbytes() and before.untyped_storage().nbytes():
            shares = after.untyped_storage().data_ptr() == before.untyped_storage().data_ptr()
            assert (outcome.kind == "copy") == (not shares)
            assert outcome.copied_bytes == (0 if shares else after.untyped_storage().nbytes())
    for layout, tensor in zip(result.layouts, tensors, strict=True):
        assert (layout.shape, layout.stride) == (tuple(tensor.shape), tensor.stride())
        assert (layout.storage_offset, layout.is_contiguous) == (tensor.storage_offset(), tensor.is_contiguous())
        assert layout.is_view == tensor._is_view()
        assert (layout.base is None) == (tensor._base is None)
        assert layout.base is None or tensors[layout.base] is tensor._base


def test_a_freed_storage_is_never_taken_for_a_shared_one():
    """Each copy frees nothing, so six copies of one size have six numbers, whatever the allocator reuses."""
    result = trace(".clone()" * 5, shape=(1000,))
    assert [layout.storage_id for layout in result.layouts] == [0, 1, 2, 3, 4, 5]


def test_storages_without_bytes_are_told_apart():
    result = trace("[1:].clone().contiguous()", shape=(3, 0))
    assert kinds(result) == [("view", 0), ("copy", 0), ("same", 0)]
    assert [layout.storage_id for layout in result.layouts] == [0, 0, 1, 1]


def test_copy_view_and_the_very_same_tensor():
    result = trace(".contiguous().transpose(0, 1).contiguous().reshape(4, 6).detach().to(torch.float32).flip(0)")
    assert kinds(result) == [
        ("same", 0),
        ("view", 0),
        ("copy", 96),
        ("view", 0),
        ("view", 0),
        ("same", 0),
        ("copy", 96),
    ]
    assert [storage.storage_id for storage in result.storages] == [0, 1, 2]
    assert result.storages[1].values[:3] == ("0", "6", "12")
    assert result.storages[2].values[0] == "16"  # flat position 18 of the transposed: x[2, 4]


def test_a_refused_step_ends_the_trace_with_pytorchs_words():
    result = trace("[1:].view(7).clone()", view_shape=(2,), write="add_", write_step=1)
    assert len(result.layouts) == 2
    assert kinds(result) == [("view", 0), ("error", 0)]
    assert result.outcomes[-1].error.type == "RuntimeError"
    assert result.outcomes[-1].error.message == "shape '[7]' is invalid for input of size 18"
    assert result.view is None
    assert [name.changed for name in result.write.names] == [True, True]
    assert trace(".view(7)", write="add_", write_step=1).write is None


def test_the_deprecation_of_t_is_warned_of_in_every_trace():
    for _ in range(2):
        assert "deprecated" in trace(".T", shape=(2, 3, 4)).outcomes[0].warnings[0]
    assert trace(".T").outcomes[0].warnings == ()


SAMPLES = {
    "narrow": Step("narrow", (0, 1, 2)),
    "view": Step("view", ((-1,),)),
    "reshape": Step("reshape", ((-1,),)),
    "unflatten": Step("unflatten", (0, (2, -1))),
    "expand": Step("expand", ((2, -1, -1, -1, -1),)),
    "permute": Step("permute", ((0, 2, 3, 1),)),
    "repeat": Step("repeat", ((1, 1, 1, 2),)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_on_every_dtype_is_traced_or_refused_in_pytorchs_words(name):
    for dtype in DTYPES:
        check_operation(name, dtype)


def check_operation(name, dtype):
    step = SAMPLES.get(name) or Step(name, tuple(p.default for p in OPERATIONS[name].parameters))
    result = run(LayoutSpec(shape=(4, 2, 4, 4), dtype=dtype, steps=(step,)), inline=True)
    (outcome,) = result.outcomes
    tensor = build_tensor(LayoutSpec(shape=(4, 2, 4, 4), dtype=dtype))
    wanted, words = raised_by(lambda: apply_step(tensor, step))
    assert (outcome.error.message if outcome.error else "") == words
    if wanted is not None:
        assert result.layouts[1].shape == tuple(wanted.shape)
        assert result.layouts[1].dtype == str(wanted.dtype).removeprefix("torch.")
        assert all(len(s.values) == s.storage_bytes // s.itemsize for s in result.storages)


def raised_by(call):
    """(what it gave, ""), or (None, the words PyTorch raised)."""
    try:
        return call(), ""
    except (RuntimeError, IndexError, TypeError) as error:
        return None, str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("bool", ("False", "True", "True")),
        ("bfloat16", ("0", "1", "2")),
        ("float8_e4m3fn", ("0", "1", "2")),
        ("complex64", ("0+0j", "1+0j", "2+0j")),
        ("complex32", ("0+0j", "1+0j", "2+0j")),
        ("uint64", ("0", "1", "2")),
    ],
)
def test_values_are_text_in_every_dtype(dtype, values):
    assert trace(shape=(3,), dtype=dtype).storages[0].values == values


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", ["zeros", "ones", "normal"])
def test_every_fill_builds_a_leaf_of_version_0_that_is_no_view(fill, dtype):
    tensor = build_tensor(LayoutSpec(dtype=dtype, fill=fill, seed=3))
    assert (tensor._version, tensor._is_view(), tensor.is_leaf, tensor.is_contiguous()) == (0, False, True, True)
    wide = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
    if fill == "normal":
        assert dtype == "bool" or len(set(wide.flatten().tolist())) > 3
    elif not dtype.endswith("fnu"):  # this dtype has no zero
        assert bool((wide == (fill == "ones")).all())


def test_memory_formats_are_those_of_pytorch():
    image = trace(shape=(2, 3, 4, 5), memory_format="channels_last").layouts[0]
    assert (image.stride, image.is_channels_last, image.is_contiguous) == ((60, 1, 15, 3), True, False)
    volume = trace(shape=(2, 3, 4, 5, 6), memory_format="channels_last_3d").layouts[0]
    assert (volume.is_channels_last_3d, volume.is_view, volume.version) == (True, False, 0)


def test_more_values_than_shown_are_left_out():
    assert trace(shape=(100,), shown_elements=100).storages[0].values[-1] == "99"
    assert trace(shape=(101,), shown_elements=100).storages[0].values == ()


def test_view_and_reshape_are_really_tried_on_the_end():
    result = trace(".transpose(0, 1)", view_shape=(-1,))
    assert result.view.view is None
    assert result.view.view_error.message.startswith("view size is not compatible with input tensor's size and stride")
    assert (result.view.reshape_copied_bytes, result.view.reshape.stride, result.view.reshape.storage_id) == (
        96,
        (1,),
        1,
    )
    fits = trace(".transpose(0, 1)", view_shape=(2, 3, 4)).view
    assert (fits.view.stride, fits.view.base, fits.reshape_copied_bytes) == ((3, 1, 6), 0, 0)
    wrong = trace(view_shape=(5,)).view
    assert wrong.view_error == wrong.reshape_error is not None


@settings(max_examples=100, deadline=None)
@given(chains())
def test_the_price_covers_every_storage_of_the_chain(chain):
    shape, steps = chain
    spec = LayoutSpec(shape=shape, steps=steps)
    traced = run(spec, inline=True)
    assert price_layout(spec).predicted_bytes >= sum(storage.storage_bytes for storage in traced.storages)
    assert [tuple(t.shape) for t in meta_chain(spec)] == [layout.shape for layout in traced.layouts]


def test_the_end_of_a_chain_without_recording_is_the_same_tensor():
    spec = LayoutSpec(steps=parse_chain(".transpose(0, 1)[1:]"))
    told = []
    end = build_chain(spec, lambda stage, fraction: told.append((stage, fraction)))
    assert end.stride() == run(spec, inline=True).layouts[-1].stride
    assert [fraction for _, fraction in told] == sorted(fraction for _, fraction in told)
    assert math.isclose(float(end.sum()), sum(range(24)) - sum(range(0, 24, 6)))


def test_a_chain_recorded_alone_can_be_asked_for_its_end():
    chain = Chain([torch.zeros(2, 3)])
    assert chain.take(Step("transpose", (0, 1)))
    assert not chain.take(Step("view", ((7,),)))
    assert not chain.is_whole
    assert chain.end.shape == (3, 2)
