"""Copies inside kernels: reorders, casts and plain copies apart, and causes that the other conversion confirms."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from engine.figures.format_inside import reorders_by_cause, sentences_inside
from engine.figures.format_words import copy_words, dims_by_stride, headline
from engine.memory_format import trace_formats
from engine.memory_format.spec import FormatSpec, FormatTrace
from engine.models.spec import ModelSpec, ResNet
from pages.tensors.memory_formats_numbers import key_numbers
from tests.memory_format.test_trace_formats import KEEPING
from tests.memory_format.tracing import conv_net, differs_in_kind, forward, lost, quick, traced
from tests.models.families import CONV_BLOCKS

CL = torch.channels_last
KEPT = [*(conv_net(block) for block in (*KEEPING, "one_hot_first"))]
RESNETS = [
    pytest.param(
        ModelSpec(architecture=ResNet(variant=variant, image_size=64, classes=7), memory_format="channels_last"),
        id=variant,
        marks=pytest.mark.slow,
    )
    for variant in ("resnet18", "resnet50")
]
CAUSE = {"model only": "image", "inputs only": "weight"}


class Calls(nn.Module):
    """A function of its two inputs."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.function(x, y)


def inside(function, x: torch.Tensor, y: torch.Tensor) -> list[tuple[str, int, int]]:
    trace = trace_formats(Calls(function), [x, y], backward=False)
    return [(copy.kind, copy.copied_bytes, copy.input) for op in trace.operations for copy in op.inside]


def reordered(trace: FormatTrace) -> int:
    return sum(op.hidden_bytes for op in forward(trace))


@pytest.mark.parametrize(
    ("first", "second", "bytes_each"),
    [
        (torch.int64, torch.float32, 4),
        (torch.bool, torch.float64, 8),
        (torch.float16, torch.float32, 4),
        (torch.float32, torch.float64, 8),
        (torch.int32, torch.float32, 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, CL], ids=["contiguous", "channels_last"])
def test_a_product_of_two_dtypes_casts_and_reorders_nothing(first, second, bytes_each, layout):
    x, y = (torch.ones(2, 8, 4, 4).to(dtype, memory_format=layout) for dtype in (first, second))
    assert inside(torch.mul, x, y) == [("cast", 2 * 8 * 4 * 4 * bytes_each, 0)]
    assert inside(torch.mul, y, x) == [("cast", 2 * 8 * 4 * 4 * bytes_each, 1)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("image_last", [True, False])
def test_a_convolution_of_two_formats_reorders_the_contiguous_one(image_last, dtype):
    image, weight = torch.ones(2, 8, 6, 6, dtype=dtype), torch.ones(4, 8, 3, 3, dtype=dtype)
    if image_last:
        image = image.to(memory_format=CL)
    else:
        weight = weight.to(memory_format=CL)
    copied = weight if image_last else image
    assert inside(F.conv2d, image, weight) == [("reorder", copied.numel() * dtype.itemsize, int(image_last))]


def test_an_expanded_gradient_that_is_written_out_is_no_reorder():
    backward = [op for op in traced(conv_net("conv_bn_relu")).operations if op.name == "aten::mm"]
    assert {copy.kind for op in backward for copy in op.inside} == {"same order"}
    assert all(op.hidden_bytes == 0 and op.inputs[0].stride == (0, 0) for op in backward)


@pytest.mark.parametrize("converted", CAUSE)
@pytest.mark.parametrize("model", [*KEPT, *RESNETS], ids=lambda model: getattr(model.architecture, "block", ""))
def test_converting_the_rest_spares_exactly_what_is_blamed_on_it(model, converted):
    part, whole = traced(model, converted), traced(model)
    blamed = reorders_by_cause(part, "forward")
    assert blamed.keys() == {CAUSE[converted]}
    assert sum(copy.copied_bytes for _, copy in blamed[CAUSE[converted]]) == reordered(part) - reordered(whole) > 0
    text = " ".join(sentences_inside(FormatSpec(model=model, converted=converted), part, "forward"))
    assert f"spared by converting the {'inputs' if converted == 'model only' else 'model'} too" in text


@pytest.mark.parametrize("converted", ["model and inputs", "model only", "inputs only"])
@pytest.mark.parametrize("block", quick(CONV_BLOCKS, differs_in_kind))
def test_the_headline_says_where_channels_last_begins(block, converted):
    model = conv_net(block)
    trace = traced(model, converted)
    tone, text = headline(FormatSpec(model=model, converted=converted), trace)
    assert (tone == "lost") == (trace.lost_at is not None)
    if tone == "lost":
        return
    stem = next(op for op in trace.operations if op.module == "stem")
    comes_in_contiguous = stem.inputs[0].format == "contiguous"
    assert ("channels_last begins with `aten::convolution` in `stem`" in text) == comes_in_contiguous
    assert not (comes_in_contiguous and "from the first image" in text)


def test_casts_are_named_apart_and_no_conversion_is_said_to_spare_them():
    model = conv_net("one_hot_first")
    text = headline(FormatSpec(model=model), traced(model))[1]
    assert "cast 4.00 KiB from int64 to float32" in text
    assert "spared" not in text
    assert "reorder" not in text
    product = next(op for op in forward(traced(model)) if op.name == "aten::mul")
    assert copy_words(product.inside[0]) == "2.00 KiB of input 0 cast from int64 to float32"


@pytest.mark.parametrize("block", quick(CONV_BLOCKS, differs_in_kind))
@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
def test_forward_and_backward_copies_stand_apart_and_add_up(block, memory_format):
    trace = traced(conv_net(block, memory_format))
    numbers = {number.label: number.value for number in key_numbers(trace)}
    assert numbers["Forward copies"] + numbers["Bwd copies"] == trace.copied_bytes
    assert numbers["Forward copies"] == sum(op.copied_bytes for op in forward(trace))


def test_a_convnext_forward_copies_nothing_in_sight():
    numbers = {number.label: number.value for number in key_numbers(traced(conv_net("convnext")))}
    assert numbers["Forward copies"] == 0 < numbers["Bwd copies"]


@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
@pytest.mark.parametrize("block", ["channel_shuffle", "contiguous_call"])
def test_inference_mode_counts_reshape_and_contiguous_as_the_copies_they_are(block, memory_format):
    """no_grad dispatches the same copies as aten::clone; a `.contiguous()` that returns its input is none."""
    whole, parts = (traced(conv_net(block, memory_format, grad_mode=mode)) for mode in ("inference_mode", "no_grad"))
    assert (whole.copies, whole.copied_bytes) == (parts.copies, parts.copied_bytes)
    assert whole.hidden_bytes == parts.hidden_bytes
    assert (whole.copies == 0) == (block == "contiguous_call" and memory_format == "contiguous")


def test_the_order_of_dimensions_by_stride_is_what_makes_the_tensor_row_major():
    copy = lost(traced(conv_net("channel_shuffle")))
    text = headline(FormatSpec(model=conv_net("channel_shuffle")), traced(conv_net("channel_shuffle")))[1]
    for tensor in (copy.inputs[0], copy.outputs[0]):
        order = dims_by_stride(tensor)
        dense = torch.empty_strided(tensor.shape, tensor.stride)
        assert dense.permute(*map(int, order.split(", "))).is_contiguous()
        assert order in text
    assert [dims_by_stride(t) for t in (copy.inputs[0], copy.outputs[0])] == ["0, 3, 4, 2, 1", "0, 1, 2, 3, 4"]


@pytest.mark.parametrize("mode", ["grad", "no_grad", "inference_mode"])
@pytest.mark.parametrize("block", quick(CONV_BLOCKS, lambda block: block in ("attention", "one_hot_first")))
def test_a_contiguous_model_is_said_to_stay_so_only_where_no_image_is_channels_last(block, mode):
    model = conv_net(block, "contiguous", grad_mode=mode)
    trace = traced(model)
    seen = {op.order for op in trace.operations}
    tone, text = headline(FormatSpec(model=model), trace)
    assert (tone == "gained") == ("channels_last" in seen)
    assert ("stays so" in text) == ("channels_last" not in seen)
