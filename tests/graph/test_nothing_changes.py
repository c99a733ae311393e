"""Reading changes nothing and keeps nothing."""

import gc
import warnings
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.graph import record_forward, trace_graph
from tests.graph.reading import bytes_by_hooks


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2))


def test_versions_gradients_and_random_state_stay():
    model, x = network(), torch.randn(3, 4, requires_grad=True)
    loss = model(x).sum()
    versions = [t._version for t in (x, *model.parameters())]
    state = torch.get_rng_state()
    graph = trace_graph(loss, model, [x])
    assert [t._version for t in (x, *model.parameters())] == versions
    assert torch.equal(torch.get_rng_state(), state)
    assert all(t.grad is None for t in (x, *model.parameters()))
    loss.backward()
    read = x.grad.clone()
    x.grad = None
    torch.set_rng_state(state)
    torch.manual_seed(0)
    assert len(graph.nodes) > 8
    assert read.isfinite().all()


def test_gradients_are_bit_identical_with_and_without_reading():
    found = []
    for reading in (False, True):
        model = network()
        torch.manual_seed(3)
        x = torch.randn(3, 4, requires_grad=True)
        loss = model(x).square().sum()
        if reading:
            trace_graph(loss, model, {"x": x})
        loss.backward()
        found.append([t.grad.clone() for t in (x, *model.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_everything_dies_with_its_last_user():
    model, x = network(), torch.randn(3, 4, requires_grad=True)
    with record_forward(model):
        middle = model[:2](x)
        loss = model[2:](middle).sum()
    graph = trace_graph(loss, model, {"x": x})
    alive = [weakref.ref(t) for t in (middle, loss, x, *model.parameters())]
    del middle, loss, x, model
    gc.collect()
    assert [one() for one in alive] == [None] * len(alive)
    assert graph.saved_bytes > 0


def test_saved_intermediates_are_freed_when_the_graph_is():
    x = torch.ones(3, requires_grad=True)
    held = torch.ones(3)
    watch = weakref.ref(held)
    y = x * held
    trace_graph(y)
    del held
    assert watch() is not None  # the graph holds it
    del y
    assert watch() is None  # and nobody else, without a garbage collection


def test_checkpoint_is_not_recomputed():
    calls = []

    def block(t):
        calls.append(1)
        return torch.relu(t * t)

    x = torch.ones(3, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False).sum()
    trace_graph(y)
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2


def test_no_warning_about_the_grad_of_a_non_leaf():
    x = torch.ones(3, requires_grad=True)
    middle = x * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace_graph((middle * middle).sum(), inputs={"x": x, "middle": middle})


def test_graphs_of_small_size_get_nothing_attached():
    y = torch.ones(3, requires_grad=True).exp().sum()
    trace_graph(y)
    assert y.grad_fn.metadata == {}


def network_under_everything():
    """A model with parameters, buffers, a list of saved tensors, an in-place write and a hook."""
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 3))
    x = torch.randn(2, 2, 6, 6, requires_grad=True)

    def compute():
        y = model(x)[torch.tensor([1, 0])]
        y.register_hook(lambda g: g)
        return (y * y.clone().add_(1)).sum()

    return model, x, compute


def test_a_second_reading_equals_the_first():
    model, x, compute = network_under_everything()
    with record_forward(model):
        loss = compute()
    first = trace_graph(loss, model, {"x": x})
    assert trace_graph(loss, model, {"x": x}) == first
    assert trace_graph((loss, loss), model, {"x": x}).nodes == first.nodes
    assert any(node.hooks for node in first.nodes)


def test_totals_equal_what_saved_tensors_hooks_see():
    model, x, compute = network_under_everything()
    graph = trace_graph(compute(), model, {"x": x})
    _, by_hooks = bytes_by_hooks(compute)
    assert graph.saved_bytes == by_hooks
    parts = (graph.parameter_bytes, graph.input_bytes, graph.buffer_bytes, graph.intermediate_bytes)
    assert sum(parts) == graph.saved_bytes
    assert min(parts) > 0


def test_garbage_collection_is_left_as_it_was():
    loss = network()(torch.randn(3, 4)).sum()
    before = gc.isenabled()
    try:
        for enabled in (False, True):
            (gc.enable if enabled else gc.disable)()
            trace_graph(loss)
            assert gc.isenabled() is enabled
            trace_graph([loss, object()])
            assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
