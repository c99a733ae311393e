"""Slots that cannot be read say why, and nothing takes the walk down."""

import msgspec
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from engine.graph import trace_graph
from engine.graph.spec import Graph
from tests.graph.reading import node, slot


def test_after_backward_the_structure_stays_and_slots_say_freed():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w.exp() * w).sum()
    before = trace_graph(y)
    y.backward()
    after = trace_graph(y)
    assert (after.edges, [n.name for n in after.nodes]) == (before.edges, [n.name for n in before.nodes])
    slots = [s for n in after.nodes for s in n.saved]
    assert len(slots) == 3
    assert {s.unavailable for s in slots} == {"freed by backward"}
    assert after.saved_bytes == 0


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_freed_lists_and_custom_functions_too():
    x = torch.ones(3, requires_grad=True)
    y = Keeps.apply(x)[torch.tensor([0, 1])].sum()
    y.backward()
    for one in ("Index", "Keeps"):
        assert [s.unavailable for s in node(trace_graph(y), one).saved] == ["freed by backward"]


def test_changed_in_place_after_saving():
    x = torch.zeros(3, requires_grad=True)
    s = torch.sigmoid(x)
    s.add_(1).add_(1)
    saved = slot(trace_graph(s), "Sigmoid", "result")
    assert (saved.version_saved, saved.version_now, saved.unavailable) == (0, 2, "")
    assert saved.owner.startswith("SigmoidBackward0")


def test_changed_before_saving_is_no_conflict():
    x = torch.zeros(3, requires_grad=True)
    y = (x + 1).mul_(2)
    saved = slot(trace_graph(y.sin()), "Sin", "self")
    assert (saved.version_saved, saved.version_now) == (1, 1)


def test_changed_parameter_and_changed_entry_of_a_list():
    w = torch.ones(3, requires_grad=True)
    rows = torch.tensor([0, 1])
    y = (w * w).sum() + w[rows].sum()
    with torch.no_grad():
        w.mul_(2)
    rows.add_(1)
    graph = trace_graph(y, inputs={"w": w, "rows": rows})
    assert [(s.version_saved, s.version_now) for s in node(graph, "Mul").saved] == [(0, 1), (0, 1)]
    assert [(s.version_saved, s.version_now) for s in node(graph, "Index").saved] == [(0, 1)]


def test_non_reentrant_checkpoint_drops_slots_and_is_not_run_again():
    calls = []

    def block(x):
        calls.append(1)
        return (x * x).sin()

    x = torch.ones(3, requires_grad=True)
    graph = trace_graph(checkpoint(block, x, use_reentrant=False))
    assert len(calls) == 1
    slots = [s for n in graph.nodes for s in n.saved]
    assert [(s.dropped, s.storage_id, s.bytes) for s in slots] == [(True, None, 0)] * 3
    assert (graph.dropped_slots, graph.saved_bytes) == (3, 0)
    assert all("checkpoint" in s.unavailable for s in slots)


def test_reentrant_checkpoint_is_one_node():
    x = torch.ones(3, requires_grad=True)
    graph = trace_graph(checkpoint(lambda t: (t * t).sin(), x, use_reentrant=True))
    assert [(n.name, n.kind) for n in graph.nodes[:1]] == [("CheckpointFunctionBackward", "checkpoint")]
    assert graph.dropped_slots == 0


def unpack_later(packed):
    raise AssertionError("reading must not unpack")


def test_other_hooks_are_named_and_never_called():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: "packed", unpack_later):
        y = x * x
    with torch.autograd.graph.save_on_cpu():
        z = y * y
    graph = trace_graph(z)
    assert {s.unavailable for s in graph.nodes[0].saved} == {"packed by save_on_cpu"}
    assert {s.unavailable for s in graph.nodes[1].saved} == {"packed by unpack_later"}
    assert graph.dropped_slots == 0


def test_sparse_layouts_have_bytes_of_their_parts():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    x = torch.ones(2, 2, requires_grad=True)
    coo = dense.to_sparse().requires_grad_()
    saved = slot(trace_graph(torch.sparse.mm(coo, x), inputs={"m": coo, "x": x}), "SparseAddmm", "mat1")
    assert (saved.owner, saved.stride, saved.storage_bytes) == ("m", None, 2 * 4 + 2 * 2 * 8)  # values, int64 indices
    assert saved.unavailable.startswith("sparse_coo")
    assert saved.shape == (2, 2)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_do_not_take_the_walk_down():
    parts = [torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)]
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.as_nested_tensor(parts, layout=layout)
        graph = trace_graph(nested * nested)
        assert graph.nodes[0].name.startswith("Mul")
        assert len(graph.nodes[0].saved) == 2
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph), type=Graph) == graph  # no SymInt among the sizes


def test_every_closed_node_says_its_own_name():
    x = torch.ones(3, requires_grad=True)
    product = torch._foreach_mul([x, x], [x, x])
    nodes = trace_graph([product[0], *torch._foreach_add([x, x], [x, x])]).nodes
    closed = {n.name: [s.unavailable for s in n.saved] for n in nodes if n.kind != "leaf"}
    assert any("ForeachMul" in name for name in closed)
    for name, reasons in closed.items():
        assert reasons == [f"PyTorch gives Python no reader for what {name} saved"], name


def test_functorch_wrapped_tensors_do_not_take_the_walk_down():
    read = []

    def f(x):
        y = x.sin() * x
        read.append(trace_graph(y))
        return y.sum()

    torch.func.grad(f)(torch.ones(3))
    torch.func.vmap(torch.func.grad(f))(torch.ones(2, 3))
    assert [g.nodes[0].name for g in read] == ["MulBackward0", "MulBackward0"]


def test_fake_and_meta_tensors():
    x = torch.ones(3, 4, device="meta", requires_grad=True)
    saved = slot(trace_graph((x * x).sum()), "Mul", "self")
    assert (saved.device, saved.bytes, saved.storage_bytes) == ("meta", 48, 48)
    with torch._subclasses.FakeTensorMode():
        y = torch.ones(3, requires_grad=True)
        graph = trace_graph(y * y)
    assert graph.nodes[0].saved[0].shape == (3,)
