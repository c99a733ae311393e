"""record_forward: the innermost module and the line that made each node."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.graph import record_forward, trace_graph
from tests.graph.reading import node


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return torch.relu(y) + x  # the block's own line


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = Block()
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.shared(self.shared(x)).exp())


def traced(model, *args, **options):
    with record_forward(model, **options):
        y = model(*args)
        loss = y.sum()
    return trace_graph(loss, model=model)


def test_innermost_module_of_every_node():
    graph = traced(Net(), torch.ones(3, 4))
    found = [(n.name.split("Backward")[0], n.module) for n in graph.nodes if n.kind == "operation"]
    assert sorted(found) == sorted(
        [("Sum", ""), ("Addmm", "head"), ("Exp", "")]
        + [("Add", "shared"), ("Relu", "shared"), ("Addmm", "shared.linear")] * 2
    )
    leaves = {n.variable: n.module for n in graph.nodes if n.kind == "leaf"}
    assert leaves["shared.linear.weight"] == "shared.linear"
    assert leaves["head.bias"] == "head"


def test_source_lines_are_the_users():
    graph = traced(Net(), torch.ones(3, 4))
    relu = next(n for n in graph.nodes if n.name == "ReluBackward0").source
    assert (relu.file, relu.function) == ("test_recording.py", "forward")
    assert relu.text == "return torch.relu(y) + x  # the block's own line"
    linear = next(n for n in graph.nodes if n.module == "shared.linear").source
    assert linear.text == "y = self.linear(x)"
    assert "/" not in linear.file


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Uses(nn.Module):
    def forward(self, x):
        return Double.apply(x) + 1  # calls the custom function


def test_custom_functions_and_reentrant_checkpoints_have_the_line_of_their_call():
    graph = traced(Uses(), torch.ones(2, requires_grad=True))
    assert "calls the custom function" in node(graph, "Double").source.text
    model = nn.Linear(2, 2)
    with record_forward(model):
        y = checkpoint(model, torch.ones(1, 2, requires_grad=True), use_reentrant=True)
    assert node(trace_graph(y, model), "CheckpointFunction").source.text.startswith("y = checkpoint(")


def test_lines_can_be_left_out():
    graph = traced(Net(), torch.ones(3, 4), sources=False)
    assert {n.source for n in graph.nodes} == {None}
    assert {n.module for n in graph.nodes} >= {"shared", "head"}


def test_modules_inside_a_checkpoint_keep_their_path():
    model = Net()
    with record_forward(model):
        y = checkpoint(model, torch.ones(3, 4, requires_grad=True), use_reentrant=False)
    graph = trace_graph(y, model)
    assert {n.module for n in graph.nodes if n.kind == "operation"} == {"", "shared", "shared.linear", "head"}


def test_hooks_go_away_also_when_the_forward_raises():
    model = Net()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), record_forward(model):
        model(torch.ones(3, 5))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    graph = traced(model, torch.ones(3, 4))  # and the next recording is not confused
    assert node(graph, "Exp").module == ""


def test_nodes_made_outside_of_the_recording_belong_to_no_module():
    model = nn.Linear(2, 2)
    before = torch.ones(2, requires_grad=True) * 2
    with record_forward(model):
        y = model(before)
    graph = trace_graph((y * 3).sum(), model)
    places = {n.name: n.module for n in graph.nodes if n.kind == "operation"}
    assert set(places.values()) == {""}  # a root module's path is "" as well
    assert node(graph, "Sum").source is None


def test_recording_a_model_keeps_no_tensor_and_dies_with_it():
    import gc
    import weakref

    model = Net()
    traced(model, torch.ones(3, 4))
    parameter = weakref.ref(model.head.weight)
    del model
    gc.collect()
    assert parameter() is None


def test_several_forwards_in_one_recording():
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with record_forward(model) as recording:
        loss = model(torch.ones(1, 2)).sum() + model(torch.zeros(1, 2)).sum()
    graph = trace_graph(loss, model)
    assert [n.module for n in graph.nodes if n.name == "TanhBackward0"] == ["1", "1"]
    assert recording.calls == {"": 2, "0": 2, "1": 2}


def test_without_a_recording_leaves_still_know_their_module():
    model = Net()
    graph = trace_graph(model(torch.ones(3, 4)), model)
    assert {n.module for n in graph.nodes if n.kind == "leaf"} == {"shared.linear", "head"}
    assert {n.module for n in graph.nodes if n.kind != "leaf"} == {""}


def test_anomaly_mode_gives_lines_without_a_recording():
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            y = x.exp()  # anomaly line
    source = trace_graph(y).nodes[0].source
    assert (source.file, source.text) == ("test_recording.py", "y = x.exp()  # anomaly line")


def test_recording_changes_no_result():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    x = torch.randn(3, 4)
    torch.manual_seed(1)
    plain = model(x)
    torch.manual_seed(1)
    with record_forward(model):
        recorded = model(x)
    assert torch.equal(plain, recorded)
    first, second = trace_graph(plain, model), trace_graph(recorded, model)
    assert [n.name for n in first.nodes] == [n.name for n in second.nodes]
    assert first.edges == second.edges
