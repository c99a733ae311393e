"""Formats, strides, copies and places of operations, against PyTorch read a second way."""

from __future__ import annotations

import msgspec
import pytest
import torch
from torch import nn

from engine.memory_format import trace_formats
from engine.memory_format.experiment import build_converted
from engine.memory_format.order import format_of
from engine.memory_format.spec import FormatSpec
from engine.models.spec import ConvNet, Mlp, ModelSpec, ResNet
from tests.memory_format.tracing import conv_net, differs_in_kind, forward, lost, quick, traced
from tests.models.families import CONV_BLOCKS

CL = torch.channels_last
FORMATS = ("contiguous", "channels_last")
KEEPING = ("conv_bn_relu", "convnext", "squeeze_excite", "group_norm", "pixel_shuffle", "attention", "plain_mask_last")
LOSING = {
    "channel_shuffle": ("aten::clone", "reshape"),
    "channel_softmax": ("aten::_softmax", "softmax"),
    "instance_norm": ("aten::clone", "instance_norm"),
    "contiguous_call": ("aten::clone", "contiguous()"),
    "plain_mask_first": ("aten::mul", "mask * x"),
}


class Product(nn.Module):
    """The public case of pytorch/pytorch#43195: a permuted one_hot and a plain tensor, in either order."""

    def __init__(self, permuted_first: bool) -> None:
        super().__init__()
        self.permuted_first = permuted_first

    def forward(self, labels: torch.Tensor) -> torch.Tensor:
        permuted = nn.functional.one_hot(labels, 5).permute(0, 3, 1, 2)
        plain = torch.ones(permuted.shape, dtype=torch.long)
        return permuted + plain if self.permuted_first else plain + permuted


def arithmetic(shape: tuple[int, ...], stride: tuple[int, ...]) -> str:
    """Format of a non-empty (N, C, H, W) by the stride rule alone: sizes of 1 do not count."""

    def dense(order: tuple[int, ...]) -> bool:
        step = 1
        for dim in reversed(order):
            if shape[dim] != 1 and stride[dim] != step:
                return False
            step *= shape[dim]
        return True

    contiguous, last = dense((0, 1, 2, 3)), dense((0, 2, 3, 1))
    if contiguous:
        return "both" if last else "contiguous"
    return "channels_last" if last else "other"


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("block", quick(CONV_BLOCKS, differs_in_kind))
def test_every_recorded_format_follows_from_its_strides(block, memory_format):
    seen = 0
    for op in traced(conv_net(block, memory_format)).operations:
        for tensor in (*op.inputs, *op.outputs):
            if len(tensor.shape) == 4:
                assert tensor.format == arithmetic(tensor.shape, tensor.stride), (op.name, tensor)
                seen += 1
            else:
                assert tensor.format == "not_4d"
    assert seen > 20


@pytest.mark.parametrize("memory_format", FORMATS)
@pytest.mark.parametrize("block", quick(CONV_BLOCKS, differs_in_kind))
def test_strides_at_module_boundaries_are_those_hooks_see(block, memory_format):
    """The last tensor that an operation of a leaf module returns is what its forward hook gets."""
    model = conv_net(block, memory_format)
    built, seen = build_converted(FormatSpec(model=model)), {}

    def noting(path: str):
        def hook(module, inputs, output) -> None:
            seen.setdefault(path, (inputs[0].stride(), output.stride()))

        return hook

    for path, module in built.model.named_modules():
        if not list(module.children()):
            module.register_forward_hook(noting(path))
    built.forward()
    assert len(seen) >= 4
    recorded = forward(traced(model))
    for path, (before, after) in seen.items():
        own = [op for op in recorded if op.module == path]
        assert before in {t.stride for op in own for t in op.inputs}, path
        assert after in {t.stride for op in own for t in op.outputs}, path


@pytest.mark.parametrize("block", KEEPING)
def test_blocks_that_keep_channels_last_in_the_forward(block):
    trace = traced(conv_net(block))
    assert trace.lost_at is None
    assert not any(op.copied_bytes for op in forward(trace))
    images = [op for op in forward(trace) if op.order]
    assert {op.order for op in images if op.name == "aten::convolution"} == {"channels_last"}


@pytest.mark.parametrize(("block", "expected"), LOSING.items())
def test_blocks_that_lose_channels_last_say_where(block, expected):
    operation, text = expected
    found = lost(traced(conv_net(block)))
    assert found.name == operation
    assert found.module == "blocks.0"
    assert found.source is not None
    assert found.source.file == "conv_net.py"
    assert text in found.source.text


@pytest.mark.parametrize("block", ["channel_shuffle", "contiguous_call", "instance_norm"])
def test_a_copy_counts_the_bytes_of_the_whole_image(block):
    assert lost(traced(conv_net(block))).copied_bytes == 4 * 8 * 4 * 4 * 4  # N, C, H / 2, W / 2, float32


def test_channel_softmax_copies_inside_its_kernel_and_the_product_finds_the_format_again():
    found = lost(traced(conv_net("channel_softmax")))
    assert (found.copied_bytes, found.hidden_copies, found.hidden_bytes) == (0, 1, 4 * 8 * 4 * 4 * 4)
    product = traced(conv_net("channel_softmax")).operations[found.id + 1 :]
    assert next(op for op in product if op.name == "aten::mul").event == "keeps"


def test_convolution_on_contiguous_images_copies_inside_and_gains():
    trace = traced(conv_net("contiguous_call"))
    second = next(op for op in forward(trace) if op.module == "blocks.1.conv")
    assert second.event == "gains"
    assert second.hidden_bytes == 4 * 8 * 4 * 4 * 4


RESNETS = [
    pytest.param("resnet18", 20, id="resnet18"),
    pytest.param("resnet50", 53, id="resnet50", marks=pytest.mark.slow),
]


def resnet(variant: str) -> ModelSpec:
    return ModelSpec(architecture=ResNet(variant=variant, image_size=64, classes=7), memory_format="channels_last")


@pytest.mark.parametrize(("variant", "convolutions"), RESNETS)
def test_a_resnet_loses_nothing_before_it_is_flattened(variant, convolutions):
    trace = traced(resnet(variant))
    assert trace.lost_at is None
    assert trace.lost_in_backward is None
    found = [op for op in forward(trace) if op.name == "aten::convolution"]
    assert len(found) == convolutions
    assert {op.outputs[0].format for op in found} == {"channels_last"}
    assert trace.strides_differ == 0


@pytest.mark.parametrize("variant", ["resnet18", pytest.param("resnet50", marks=pytest.mark.slow)])
def test_channels_last_inputs_alone_change_the_strides_of_three_gradients(variant):
    """1 x 1 convolutions of stride 2: PyTorch keeps the kernel's strides, as sizes of 1 do not matter to it."""
    model = resnet(variant)
    trace = traced(model, "inputs only")
    differing = [p for p in trace.parameters if p.strides_differ]
    assert [p.name for p in differing] == [f"layer{n}.0.downsample.0.weight" for n in (2, 3, 4)]
    assert not any(p.order_differs for p in differing)
    built = build_converted(FormatSpec(model=model, converted="inputs only"))
    built.loss(built.forward()).backward()
    gradients = {name: p.grad.stride() for name, p in built.model.named_parameters()}
    assert {p.name: p.grad_stride for p in trace.parameters} == gradients


@pytest.mark.parametrize("converted", ["model and inputs", "model only", "inputs only"])
def test_what_is_converted(converted):
    built = build_converted(FormatSpec(model=conv_net("conv_bn_relu"), converted=converted))
    assert (format_of(built.inputs["x"]) == "channels_last") == (converted != "model only")
    weight = built.model.get_parameter("blocks.0.conv.weight")
    assert (format_of(weight) == "channels_last") == (converted != "inputs only")


def test_permuted_one_hot_is_channels_last_and_the_first_operand_wins():
    labels = torch.arange(12).view(1, 3, 4) % 5
    sums = {}
    for first in (True, False):
        trace = trace_formats(Product(first), labels, backward=False)
        permute = next(op for op in trace.operations if op.name == "aten::permute")
        assert permute.outputs[0].stride == (60, 1, 20, 5)
        assert permute.outputs[0].format == "channels_last"
        assert permute.outputs[0].aliases == 0
        assert trace.copied_bytes == 0
        sums[first] = next(op for op in trace.operations if op.name == "aten::add").outputs[0].stride
    assert sums == {True: (60, 1, 20, 5), False: (60, 12, 4, 1)}


def test_a_contiguous_model_drifts_into_channels_last_by_a_permuted_mask():
    trace = traced(conv_net("one_hot_first", "contiguous"))
    gained = next(op for op in trace.operations if op.event == "gains")
    assert gained.module == "blocks.0"
    assert "permute" in gained.source.text
    second = next(op for op in forward(trace) if op.module == "blocks.1.conv")
    assert second.outputs[0].format == "channels_last"


def test_convnext_in_contiguous_format_reorders_inside_layer_norm():
    trace = traced(conv_net("convnext", "contiguous"))
    norm = next(op for op in forward(trace) if op.name == "aten::native_layer_norm")
    assert (norm.event, norm.order) == ("gains", "channels_last")
    assert norm.hidden_bytes == 4 * 8 * 4 * 4 * 4
    assert lost(trace).name == "aten::add"
    assert not any(op.hidden_bytes for op in forward(traced(conv_net("convnext"))))


def test_backward_operations_carry_the_module_and_line_of_their_node():
    trace = traced(conv_net("channel_shuffle"))
    backward = [op for op in trace.operations if op.phase == "backward"]
    convolution = [op for op in backward if op.name == "aten::convolution_backward"]
    assert [op.module for op in convolution] == ["blocks.1.conv", "blocks.0.conv", "stem"]
    assert {op.node for op in convolution} == {"ConvolutionBackward0"}
    assert all(op.source and op.source.file == "conv_net.py" for op in convolution)
    assert [op for op in backward if op.event == "loses"]


def test_gradient_copies_name_their_parameter():
    trace = traced(conv_net("one_hot_first", "contiguous"))
    copies = [op for op in trace.operations if op.variable and op.name == "aten::copy_"]
    assert [op.variable for op in copies] == ["blocks.1.conv.weight"]
    assert copies[0].outputs[0].is_parameter
    assert copies[0].copied_bytes == 4 * 8 * 8 * 3 * 3


def test_checkpointed_blocks_run_again_as_recompute():
    trace = traced(conv_net("channel_shuffle", checkpoint="each_block"))
    again = [op for op in trace.operations if op.phase == "recompute"]
    first = [op.name for op in forward(trace) if op.module.startswith("blocks") and op.name != "aten::detach"]
    assert sorted(op.name for op in again if op.name in first and op.module.startswith("blocks"))[:1]
    assert {op.module.partition(".")[0] for op in again} == {"blocks"}
    assert any(op.event == "loses" for op in again)


def test_models_without_images_have_no_orders():
    trace = traced(ModelSpec(architecture=Mlp()))
    assert (trace.image_operations, trace.channels_last_operations, trace.lost_at) == (0, 0, None)


def test_an_error_of_pytorch_is_kept_with_what_ran_before():
    trace = traced(conv_net("conv_bn_relu", grad_mode="no_grad"))
    assert trace.error is not None
    assert trace.error.stage == "backward"
    assert "does not require grad" in trace.error.message
    assert trace.channels_last_operations > 0


def test_tracing_changes_neither_loss_nor_gradients():
    model = conv_net("squeeze_excite")
    plain, followed = (build_converted(FormatSpec(model=model)) for _ in range(2))
    plain.loss(plain.forward()).backward()
    trace_formats(followed.model, followed.inputs)
    for (name, one), two in zip(plain.model.named_parameters(), followed.model.parameters(), strict=True):
        assert torch.equal(one.grad, two.grad), name


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 1, 4, 4), (2, 3, 1, 1), (1, 3, 4, 4), (0, 3, 4, 4)])
def test_a_view_of_sizes_of_one_is_both_as_pytorch_says(shape):
    x = torch.empty(shape)
    both = x.is_contiguous() and x.is_contiguous(memory_format=CL)
    assert (format_of(x) == "both") == both


def test_forward_alone_has_no_backward_and_no_gradients():
    trace = traced(conv_net("conv_bn_relu"), backward=False)
    assert {op.phase for op in trace.operations} == {"forward"}
    assert all(p.grad_stride is None for p in trace.parameters)


def test_a_trace_travels_as_plain_data():
    trace = traced(conv_net("channel_shuffle"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(trace), type=type(trace)) == trace


def test_the_stem_of_any_conv_net_sees_three_channels():
    trace = traced(ModelSpec(architecture=ConvNet(image_size=8, channels=8), memory_format="channels_last"))
    stem = next(op for op in forward(trace) if op.module == "stem")
    assert stem.inputs[0].shape == (4, 3, 8, 8)
    assert stem.inputs[0].stride == (192, 1, 24, 3)
