"""Every model can be followed, images or not, and user modules of odd shapes too."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from engine import recorded
from engine.memory_format import trace_formats
from engine.models.spec import EXPRESSIONS, Expression, ModelSpec
from tests.memory_format.tracing import conv_net, differs_in_kind, quick, traced
from tests.models.families import CONV_BLOCKS, NETWORKS, RAISING, label

CL = torch.channels_last
OTHERS = [a for a in NETWORKS if type(a).__name__ not in ("ConvNet", "ResNet")]
FIRST_OF_THEIR_KIND = list({type(a): a for a in reversed(OTHERS)}.values())
MODES = ("no_grad", "inference_mode", "detach")


@pytest.mark.parametrize("architecture", quick(OTHERS, FIRST_OF_THEIR_KIND.__contains__), ids=label)
def test_a_network_without_images_is_followed(architecture):
    trace = traced(ModelSpec(architecture=architecture))
    assert trace.error is None
    assert trace.operations
    assert {op.phase for op in trace.operations} == {"forward", "loss", "backward"}
    assert len(trace.parameters) > 0


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_is_followed(name):
    trace = traced(ModelSpec(architecture=Expression(name=name)))
    assert (trace.error is not None) == (name in RAISING)
    assert trace.operations or trace.error.stage == "forward"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("block", ["channel_shuffle", "attention"])
def test_gradient_modes_end_before_backward_and_keep_the_forward(block, mode):
    trace = traced(conv_net(block, grad_mode=mode))
    assert trace.error.stage == "backward"
    assert (trace.lost_at is None) == (block == "attention")


@pytest.mark.parametrize("block", quick(CONV_BLOCKS, differs_in_kind))
def test_autocast_keeps_the_verdict_of_every_block(block):
    """Casts are copies, and they keep the format: the same line loses it as without them."""
    plain, cast = traced(conv_net(block)), traced(conv_net(block, autocast="bfloat16"))
    assert cast.copies > plain.copies
    lines = [None if trace.lost_at is None else trace.operations[trace.lost_at].source.line for trace in (plain, cast)]
    assert lines[0] == lines[1]


class Branches(nn.Module):
    """Lists in and out, an input used twice, a sparse product, a tensor made inside."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, object]:
        parts = torch.cat([x, y], dim=1).chunk(2, dim=1)
        diagonal = torch.eye(4).to_sparse() @ torch.ones(4, 2)
        return {"parts": list(parts), "sum": (x + x, diagonal)}


def test_lists_dicts_and_sparse_tensors_of_a_user_module():
    x, y = (torch.randn(2, 3, 4, 4).to(memory_format=CL).requires_grad_() for _ in range(2))
    trace = trace_formats(Branches(), {"x": x, "y": y})
    assert trace.error is None
    cat = next(op for op in trace.operations if op.name == "aten::cat")
    assert [t.format for t in cat.inputs] == ["channels_last"] * 2
    assert cat.event == "keeps"
    split = next(op for op in trace.operations if op.name == "aten::split")
    assert [t.format for t in split.outputs] == ["other"] * 2
    assert [t.storage_offset for t in split.outputs] == [0, 3]
    assert [t.aliases for t in split.outputs] == [0, 0]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.MaxPool2d(2), "keeps"),
        (nn.ChannelShuffle(2), "keeps"),
        (nn.Upsample(scale_factor=2), "keeps"),
        (nn.ConvTranspose2d(4, 4, 2, 2), "keeps"),
        (nn.InstanceNorm2d(4), "loses"),
        (nn.Softmax(dim=1), "loses"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else value,
)
def test_a_single_layer_against_what_its_output_says(layer, expected):
    x = torch.randn(2, 4, 6, 6).to(memory_format=CL)
    assert layer(x).is_contiguous(memory_format=CL) == (expected == "keeps")
    trace = trace_formats(layer, x, backward=False)
    assert ("loses" in {op.event for op in trace.operations}) == (expected == "loses")


def test_an_error_in_a_user_forward_is_kept():
    trace = trace_formats(nn.Conv2d(3, 4, 3), torch.randn(1, 5, 8, 8))
    assert (trace.error.stage, trace.error.type) == ("forward", "RuntimeError")
    assert "expected input" in trace.error.message


def test_the_running_node_is_known_in_backward_only():
    seen = []

    class Noting(recorded.DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            node = recorded.running_node()
            seen.append((func.name(), node and node.name()))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Noting():
        x.sin().sum().backward()
    names = dict(seen)
    assert names["aten::sin"] is None
    assert names["aten::cos"] == "SinBackward0"
    assert recorded.running_node() is None


def test_a_profiler_that_runs_already_is_not_disturbed():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as outer:
        trace = trace_formats(nn.Softmax(dim=1), torch.randn(2, 4, 6, 6).to(memory_format=CL), backward=False)
    assert "another profiler" in trace.hidden_unavailable
    assert trace.operations
    assert any(event.name == "aten::_softmax" for event in outer.events())
