"""What the questions of the memory formats page tell people to notice is what PyTorch does."""

from __future__ import annotations

import msgspec
import pytest

from engine.memory_format.spec import FormatTrace, Operation
from pages.tensors.memory_formats_presets import PRESETS
from tests.memory_format.tracing import forward, lost, traced

BY_QUESTION = {preset.question: preset for preset in PRESETS}


def of(question: str, block: str = "", **changes) -> FormatTrace:
    preset = BY_QUESTION[question]
    model = msgspec.structs.replace(preset.model, **changes)
    if block:
        model = msgspec.structs.replace(model, architecture=msgspec.structs.replace(model.architecture, block=block))
    return traced(model, preset.settings.get("formats.converted", "model and inputs"))


def named(operations: list[Operation], name: str) -> list[Operation]:
    return [op for op in operations if op.name == f"aten::{name}"]


def kernel_bytes(operations: list[Operation]) -> int:
    return sum(op.hidden_bytes for op in operations)


def test_reshape_loses_it_and_the_next_convolution_copies_it_back_in_its_kernel():
    trace = of("Where did channels_last go?")
    assert "reshape" in lost(trace).source.text
    assert all(op.outputs[0].aliases == 0 for name in ("view", "transpose") for op in named(forward(trace), name)[:1])
    convolutions = [op for op in named(forward(trace), "convolution") if op.module.startswith("blocks")]
    assert [op.event for op in convolutions] == ["keeps", "gains", "gains"]
    assert [op.hidden_copies for op in convolutions] == [0, 1, 1]


@pytest.mark.slow
def test_a_resnet50_writes_one_other_image_and_it_is_the_pooled_gradient():
    trace = of("Does a ResNet-50 ever leave channels_last?")
    others = [op for op in trace.operations if op.order not in ("", "channels_last")]
    (pooled,) = [op for op in others if any(t.aliases < 0 for t in op.outputs)]
    assert (pooled.name, pooled.module, pooled.phase) == ("aten::div", "avgpool", "backward")
    assert trace.image_operations - trace.channels_last_operations == 1
    following = next(op for op in trace.operations[pooled.id + 1 :] if op.name != "aten::detach" and op.order)
    assert following.order == "channels_last"


def test_the_first_operand_decides():
    question = "Which operand decides the format of a product?"
    assert lost(of(question)).name == "aten::mul"
    assert of(question, block="plain_mask_last").lost_at is None


def test_a_permuted_one_hot_brings_channels_last_without_a_copy():
    trace = of("Nobody asked for channels_last: why is it there?")
    gained = next(op for op in trace.operations if op.event == "gains")
    assert gained.name == "aten::permute"
    assert gained.copied_bytes == gained.hidden_bytes == 0
    after = named(forward(trace), "convolution")[2:]
    assert {op.outputs[0].format for op in after} == {"channels_last"}
    assert {op.inputs[1].format for op in after} == {"contiguous"}
    assert all(op.hidden_bytes for op in after)


def test_permutes_of_a_channels_last_convnext_copy_nothing():
    question = "Do the permutes of a ConvNeXt block cost anything?"
    assert sum(op.copied_bytes for op in forward(of(question))) == 0
    assert kernel_bytes(forward(of(question))) == 0
    contiguous = of(question, memory_format="contiguous")
    assert kernel_bytes(named(forward(contiguous), "native_layer_norm")) > 0


@pytest.mark.slow
def test_converting_the_inputs_alone_makes_kernels_reorder_weights():
    trace = of("I converted the inputs and forgot the model: what happens?")
    convolutions = named(forward(trace), "convolution")
    assert {op.outputs[0].format for op in convolutions} == {"channels_last"}
    wide = [op for op in convolutions if op.inputs[1].format == "contiguous"]
    assert wide
    assert all(op.hidden_bytes for op in wide)
    assert [p.shape[2:] for p in trace.parameters if p.strides_differ] == [(1, 1)] * 3
    assert any(op.variable and op.copied_bytes for op in trace.operations)


def test_softmax_copies_inside_and_the_product_is_back():
    trace = of("Which copies does no stride show?")
    softmax = named(forward(trace), "_softmax")
    assert [op.event for op in softmax] == ["loses"] * 3
    assert all(op.hidden_copies == 1 and not op.copied_bytes for op in softmax)
    assert {op.order for op in named(forward(trace), "mul")} == {"channels_last"}


def test_contiguous_copies_and_the_next_convolution_copies_back():
    trace = of("Is `.contiguous()` harmless?")
    copies = named(forward(trace), "clone")
    image = 4 * 32 * 16 * 16 * 4
    assert [op.copied_bytes for op in copies] == [image] * 3
    assert [op.hidden_bytes for op in named(forward(trace), "convolution")[2:]] == [image] * 2
    assert trace.warnings == ()
