"""What people asked about layouts and views in public, each with its source, answered by the engine."""

from __future__ import annotations

import io

import pytest
import torch

from engine import run
from engine.storage import inspect_layout
from engine.storage.chain import parse_chain
from engine.storage.spec import LayoutSpec


def trace(chain="", **fields):
    return run(LayoutSpec(steps=parse_chain(chain), **fields), inline=True)


def test_042_a_permuted_one_hot_is_channels_last_and_hands_that_on():
    """pytorch/pytorch#43195: NHWC permuted to NCHW is channels_last without a copy; the first operand decides."""
    built, permuted = trace(".permute(0, 3, 1, 2)", shape=(1, 3, 4, 5), dtype="int64").layouts
    assert (built.stride, built.is_contiguous, built.is_channels_last) == ((60, 20, 5, 1), True, False)
    assert (permuted.shape, permuted.stride) == ((1, 5, 3, 4), (60, 1, 20, 5))
    assert (permuted.is_contiguous, permuted.is_channels_last) == (False, True)
    labels = torch.arange(12).view(1, 3, 4) % 5
    p = torch.nn.functional.one_hot(labels, 5).permute(0, 3, 1, 2)
    plain = torch.ones(p.shape, dtype=torch.long)
    assert inspect_layout(p + plain).stride == (60, 1, 20, 5)
    assert inspect_layout(plain + p).stride == (60, 12, 4, 1)


def test_045_negative_steps_are_refused_and_flip_copies():
    """pytorch/pytorch#175240: no negative stride anywhere, so numpy's [::-3] is flip first, then step."""
    error = trace("[::-1]", shape=(11,)).outcomes[0].error
    assert (error.type, error.message) == ("ValueError", "step must be greater than zero")
    error = trace(".as_strided((3,), (-1,), 10)", shape=(11,)).outcomes[0].error
    assert error.message == ("as_strided: Negative strides are not supported at the moment, got strides: [-1]")
    flipped = trace(".flip(0)[::3].clone()", shape=(11,), dtype="int64")
    assert flipped.outcomes[0].kind == "copy"
    assert flipped.storages[-1].values == ("10", "7", "4", "1")
    assert trace("[::3].flip(0)", shape=(11,), dtype="int64").storages[-1].values == ("9", "6", "3", "0")


def test_047_a_slice_keeps_and_saves_its_whole_storage():
    """pytorch/pytorch#40157: 40 bytes of values, 40,000 of storage, and torch.save writes the storage."""
    cut = trace("[2500:2510]", shape=(10_000,)).layouts[1]
    assert (cut.storage_offset, cut.numel, cut.view_bytes) == (2500, 10, 40)
    assert (cut.storage_bytes, cut.data_ptr_offset_bytes) == (40_000, 10_000)
    file = io.BytesIO()
    torch.save(torch.zeros(10_000)[2500:2510], file)
    file.seek(0)
    loaded = inspect_layout(torch.load(file))
    assert (loaded.storage_offset, loaded.storage_bytes) == (2500, 40_000)
    assert trace("[2500:2510].clone()", shape=(10_000,)).layouts[2].storage_bytes == 40


def test_048_an_uncoalesced_sparse_tensor_has_strides_of_zero_and_no_storage():
    """pytorch/pytorch#9998, the layout part."""
    sparse = torch.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [3.0, 4.0, 5.0], (2, 3), check_invariants=True)
    layout = inspect_layout(sparse)
    assert (layout.shape, layout.stride, layout.is_contiguous) == ((2, 3), (0, 0), False)
    assert (layout.storage_bytes, layout.storage_id, layout.data_ptr_offset_bytes) == (None, None, None)
    assert "Cannot access storage of SparseTensorImpl" in layout.unavailable
    assert (layout.layout, layout.is_leaf) == ("sparse_coo", True)


@pytest.mark.parametrize(
    ("shape", "chain", "expected"),
    [
        ((128, 0), "", ((128, 0), (1, 1), True, 0, 0)),
        ((2, 0, 4), "", ((2, 0, 4), (4, 4, 1), True, 0, 0)),
        ((2, 0, 4), ".permute(2, 0, 1)", ((4, 2, 0), (1, 4, 4), True, 0, 0)),
        ((3, 4), "[3:]", ((0, 4), (4, 1), True, 0, 0)),
    ],
)
def test_052_tensors_without_elements(shape, chain, expected):
    """tile-ai/tilelang#1697: always contiguous, strides as if sizes of 0 were 1."""
    end = trace(chain, shape=shape).layouts[-1]
    assert (end.shape, end.stride, end.is_contiguous, end.numel, end.view_bytes) == expected


def test_007_outputs_of_a_method_with_several_views_must_not_be_written():
    """pytorch/pytorch#48149: chunk is refused, a slice of the same rows is not, and a written base is told later."""
    grad = {"shape": (4, 2), "fill": "ones", "requires_grad": True, "write": "add_"}
    refused = trace(".clone().chunk(2)[0]", write_step=2, **grad).write
    assert refused.error.message == (
        "Output 0 of Split is a view and is being modified inplace. This view is the output of a function that returns "
        "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
        "inplace operation by an out-of-place one."
    )
    allowed = trace(".clone()[:2]", write_step=2, **grad).write
    assert (allowed.error, allowed.names[1].grad_fn_after) == (None, "torch::autograd::CopySlices")
    later = trace(".clone().unbind()[0]", write_step=1, **grad).write
    assert later.error is None
    assert (
        "is a view and its base or another view of its base has been modified inplace" in later.backward_error.message
    )


@pytest.mark.parametrize("chain", [".view(2)", "[:1]", ".clone()"])
def test_081_a_view_made_afterwards_is_not_part_of_the_graph(chain):
    """ilia10000/dataset-distillation#3: sharing storage is not sharing history; each view has a grad_fn of its own."""
    result = trace(chain, shape=(2,), requires_grad=True)
    built, after = result.layouts
    assert (built.is_leaf, after.is_leaf) == (True, False)
    assert after.grad_fn is not None
    assert (after.storage_id == built.storage_id) == (chain != ".clone()")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(loss, x.view(2))
