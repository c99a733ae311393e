"""is_contiguous in every memory format, and view(dtype), decided as PyTorch decides them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.storage.contiguity import explain_ambiguity, is_contiguous_like
from engine.storage.dtype_rule import explain_dtype_view
from engine.storage.dtypes import DTYPES
from tests.storage.chains import VIEWS, build, chains

FORMATS = {
    "contiguous": torch.contiguous_format,
    **{n: getattr(torch, n) for n in ("channels_last", "channels_last_3d")},
}


def agrees(tensor):
    for name, wanted in FORMATS.items():
        rule = is_contiguous_like(tuple(tensor.shape), tensor.stride(), name)
        assert rule.is_contiguous == tensor.is_contiguous(memory_format=wanted), (tensor.shape, tensor.stride(), name)
        assert rule.reason


@settings(max_examples=100, deadline=None)
@given(chains(operations=VIEWS))
def test_contiguity_of_random_chains_is_pytorchs(chain):
    agrees(build(*chain))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_contiguity_of_images_in_any_order_of_dimensions_is_pytorchs(data):
    dims = data.draw(st.sampled_from((4, 5)))
    shape = [data.draw(st.integers(0, 3)) for _ in range(dims)]
    dense = torch.empty(shape).permute(data.draw(st.permutations(range(dims))))
    agrees(dense)
    wanted = torch.channels_last if dims == 4 else torch.channels_last_3d
    agrees(torch.empty(shape, memory_format=wanted))


@pytest.mark.parametrize("shape", [(2, 1, 3, 4), (2, 3, 1, 1), (2, 0, 3, 4), (1, 1, 1, 1, 5)])
def test_sizes_of_one_and_zero_make_two_formats_at_once(shape):
    tensor = torch.empty(shape)
    found = explain_ambiguity(tuple(tensor.shape), tensor.stride())
    assert found.formats == tuple(
        name for name, wanted in FORMATS.items() if tensor.is_contiguous(memory_format=wanted)
    )
    assert all(tensor.contiguous(memory_format=FORMATS[name]) is tensor for name in found.formats)
    assert ("at once" in found.words) == (len(found.formats) > 1)


def test_to_memory_format_rewrites_strides_where_contiguous_sees_nothing_to_do():
    """What the words about ambiguity say, of an image with one channel."""
    tensor = torch.empty(2, 1, 3, 4)
    assert tensor.contiguous(memory_format=torch.channels_last) is tensor
    assert tensor.to(memory_format=torch.channels_last).stride() == (12, 1, 4, 1) != tensor.stride()


def test_an_unambiguous_tensor_is_told_as_such():
    assert explain_ambiguity((2, 3, 4, 5), (60, 20, 5, 1)).words == ""
    differing = is_contiguous_like((2, 3, 4, 5), (60, 20, 5, 1), "channels_last")
    assert differing.reason == "Dimension 1 has stride 20 where 1 is expected."


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_view_dtype_is_decided_as_pytorch_does(data):
    old, new = (data.draw(st.sampled_from(DTYPES)) for _ in range(2))
    rows, columns = data.draw(st.sampled_from((0, 1, 4, 8, 32))), data.draw(st.sampled_from((0, 1, 2, 8, 16, 24)))
    tensor = torch.empty(rows, columns, dtype=getattr(torch, old))
    cut = data.draw(st.sampled_from(("", "transpose", "step", "offset", "offset_both", "short", "scalar")))
    tensor = {
        "transpose": lambda: tensor.t(),
        "step": lambda: tensor[:, ::2],
        "offset": lambda: tensor[:, 2:],
        "offset_both": lambda: tensor[1:, 1:],
        "short": lambda: tensor[:, :3],
        "scalar": lambda: tensor.flatten()[0] if tensor.numel() else tensor,
    }.get(cut, lambda: tensor)()
    args = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.itemsize)
    rule = explain_dtype_view(*args, getattr(torch, new).itemsize)
    try:
        viewed = tensor.view(getattr(torch, new))
    except RuntimeError:
        assert not rule.is_possible
        assert [check.holds for check in rule.checks] == [True] * (len(rule.checks) - 1) + [False]
    else:
        assert (rule.shape, rule.stride) == (tuple(viewed.shape), viewed.stride())
        assert rule.storage_offset == viewed.storage_offset()
        assert all(check.holds for check in rule.checks)
