"""What people could not see in public reports, read from the product. Expected values were measured with torch 2.13 on
scripts rebuilt from the threads named at each test; here the product must say the same."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from engine.graph import trace_graph
from tests.graph.reading import edges_of, names, node, slot, targets


def test_unbind_iter_is_one_node_with_numbered_outputs():
    """pytorch/pytorch#40884: one UnbindBackward0, outputs 0 and 2 used."""
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    p, _, r = x
    graph = trace_graph((p * 2 + r * 5).sum(), inputs={"x": x})
    unbind = node(graph, "UnbindBackward0")
    assert sorted(e.input_nr for e in graph.edges if e.target == unbind.id) == [0, 2]
    assert len(unbind.inputs) == 3  # output 1 exists and nothing consumes it
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (6, 6)


def test_slice_chain_has_one_node_per_index():
    """pytorch/pytorch#9701."""
    x = torch.ones(4, 5, requires_grad=True)
    leaf = "torch::autograd::AccumulateGrad"
    assert names(trace_graph(x[1, 2])) == ["SelectBackward0", "SelectBackward0", leaf]
    assert names(trace_graph(x[1:3, 0])) == ["SelectBackward0", "SliceBackward0", leaf]
    last = trace_graph(x[..., -1])
    assert names(last) == ["SelectBackward0", leaf]
    shown = {a.name: a.value for a in last.nodes[0].attributes}
    assert (shown["dim"], shown["index"]) == ("1", "-1")
    assert len(trace_graph(x[1, 2] + x[1:3, 0].sum() + x[..., -1].sum()).nodes) == 10


def test_shared_leaf_and_the_empty_slot_of_a_constant():
    """discuss.pytorch.org/t/24463: what next_functions means, and what its None is."""
    a = torch.tensor(3.0, requires_grad=True)
    graph = trace_graph(a * (a + 7), inputs={"a": a})
    assert targets(graph, 0) == ["a", "AddBackward0"]
    assert targets(graph, node(graph, "Add").id) == ["a", None]
    assert len(graph.nodes) == 3


def test_tied_weight_has_one_accumulator_with_its_hooks():
    """pytorch/pytorch#8023, #76464: one leaf, two uses, both hooks on it."""
    weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    weight.register_hook(lambda g: None)
    weight.register_post_accumulate_grad_hook(lambda p: None)
    graph = trace_graph(((torch.ones(1, 2) @ weight) @ weight.t()).sum(), inputs={"weight": weight})
    (leaf,) = [one for one in graph.nodes if one.kind == "leaf"]
    assert leaf.hooks == ("tensor hook <lambda>", "post-accumulate hook <lambda>")
    assert sum(e.target == leaf.id for e in graph.edges) == 2
    assert (len(graph.nodes), sum(e.target is None for e in graph.edges)) == (5, 1)


def test_writing_into_a_slice_is_copy_slices():
    """pytorch/pytorch#48149: allowed for single-output views."""
    y = torch.ones(4, 2, requires_grad=True) * 1
    y[:2].add_(1)
    graph = trace_graph(y.sum())
    assert node(graph, "torch::autograd::CopySlices").kind == "copy_slices"


class Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *args):
        return torch.cat(list(args[0] if isinstance(args[0], list) else args))

    @staticmethod
    def backward(ctx, g):
        return tuple(g[i : i + 1] for i in range(len(g)))


def test_tensors_inside_a_list_are_not_tracked_by_a_custom_function():
    """pytorch/pytorch#55438."""
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    as_list, as_args = trace_graph(Joined.apply([a, b])), trace_graph(Joined.apply(a, b))
    assert (as_list.nodes, as_list.roots[0].node) == ((), None)
    assert "does not require grad" in as_list.roots[0].note
    assert names(as_args)[0] == "JoinedBackward"
    assert len(edges_of(as_args, 0)) == 2


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, amount):
        return t + amount

    @staticmethod
    def backward(ctx, g):
        return g, None


def test_arguments_that_are_no_tensors_have_no_slot():
    """evanmy/sae#5: backward returns two gradients, next_functions has one entry."""
    graph = trace_graph(Shift.apply(torch.ones(3, requires_grad=True), 0.5))
    assert [e.target is None for e in edges_of(graph, 0)] == [False]


class Fixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, want):
        ctx.save_for_backward(want)
        return t.clone()

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g, None


def test_two_calls_of_one_function_keep_two_saved_tensors():
    """szagoruyko/pytorchviz#60: boxes were merged through a reused id."""
    t, one, two = torch.ones(1, requires_grad=True), torch.tensor([10.0]), torch.tensor([200.0])
    graph = trace_graph(Fixed.apply(t, one) + Fixed.apply(t, two), inputs={"one": one, "two": two})
    saved = [s for n in graph.nodes for s in n.saved]
    assert [s.owner for s in saved] == ["one", "two"]
    assert len({s.storage_id for s in saved}) == 2


def test_saved_self_and_other_are_the_leaf_itself():
    """szagoruyko/pytorchviz#69."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    graph = trace_graph(a * a, inputs={"a": a})
    assert [s.owner for s in graph.nodes[0].saved] == ["a", "a"]
    assert graph.intermediate_bytes == 0
    assert targets(graph, 0) == ["a", "a"]


@pytest.mark.parametrize("structure", [list, tuple, lambda outs: dict(zip("ab", outs, strict=True))])
def test_models_that_return_several_outputs(structure):
    """szagoruyko/pytorchviz#31, #16."""
    trunk, first, second = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)
    z = torch.relu(trunk(torch.randn(5, 3)))
    graph = trace_graph(structure([first(z), second(z)]))
    assert len(graph.nodes) == 13
    assert sum(n.kind == "leaf" for n in graph.nodes) == 6
    assert sum(n.name.startswith("Relu") for n in graph.nodes) == 1


class Tagged(torch.Tensor):
    pass


def test_tensor_subclass_is_no_endless_recursion():
    """szagoruyko/pytorchviz#65."""
    (root,) = trace_graph(Tagged(torch.arange(3.0))).roots
    assert (root.node, root.shape) == (None, (3,))
    assert "Tagged" in root.note
    assert "Tensor" in root.note


def test_graph_after_backward():
    """facebookresearch/dlrm#71."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (w.exp() * w).sum()
    y.backward()
    graph = trace_graph(y, inputs={"w": w})
    assert names(graph)[1:] == ["MulBackward0", "ExpBackward0", "torch::autograd::AccumulateGrad"]
    assert {s.unavailable for n in graph.nodes for s in n.saved} == {"freed by backward"}


def test_thousands_of_operations_in_a_row():
    """szagoruyko/pytorchviz#71, pytorch/pytorch#5534: 6002 nodes."""
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.0001 + 0.5
    graph = trace_graph(y.sum())
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (6002, 6001)
    assert sum(e.target is None for e in graph.edges) == 6000


def test_graphs_of_gradients():
    """pytorch/tutorials#1603: 2, 4, 4, 4 nodes for x**4 and its derivatives."""
    x = torch.tensor(2.0, requires_grad=True)
    orders = [x**4]
    for _ in range(3):
        orders += torch.autograd.grad(orders[-1], x, create_graph=True)
    graphs = [trace_graph(y) for y in orders]
    assert [len(g.nodes) for g in graphs] == [2, 4, 4, 4]
    assert [g.nodes[0].name for g in graphs] == ["PowBackward0", "MulBackward0", "MulBackward0", "MulBackward0"]


def test_gradient_of_something_linear_does_not_reach_its_variable():
    """pytorch/pytorch#44189."""
    a, x = torch.tensor(0.3, requires_grad=True), torch.tensor(1.5, requires_grad=True)
    (d1,) = torch.autograd.grad(a * x, x, create_graph=True)
    graph = trace_graph(d1, inputs={"a": a, "x": x})
    assert graph.nodes[0].name == "MulBackward0"
    assert [n.variable for n in graph.nodes if n.kind == "leaf"] == ["a"]
    assert len(graph.nodes) == 2


def test_gradient_of_relu_still_records_a_graph():
    """jacobgil/pytorch-grad-cam#582: 5 nodes, 4 edges, 3 empty slots."""
    torch.manual_seed(3)
    w = torch.randn(4, 3, dtype=torch.double)
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.double, requires_grad=True)
    (g,) = torch.autograd.grad(torch.relu(w @ x).sum(), x, create_graph=True)
    graph = trace_graph(g)
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (5, 4)
    assert sum(e.target is None for e in graph.edges) == 3


def test_complex_conjugate():
    """jax-ml/jax#15872: 5 nodes, 5 edges, complex metadata."""
    z = torch.tensor(3 + 4j, requires_grad=True)
    graph = trace_graph((z * z.conj()).real, inputs={"z": z})
    assert (len(graph.nodes), len(graph.edges)) == (5, 5)
    assert node(graph, "MulBackward0").inputs[0].dtype == "complex64"
    assert node(graph, "Conj").kind == "view"


def test_embedding_with_sparse_gradient():
    """pytorch/pytorch#4666: 4 nodes, 3 edges, 1 empty slot."""
    embedding = nn.Embedding(5, 2, sparse=True)
    indices = torch.tensor([1, 3, 1])
    weights = torch.tensor([[1.0], [10.0], [100.0]])
    graph = trace_graph((embedding(indices) * weights).sum(), embedding, {"indices": indices})
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (4, 3)
    assert {a.name: a.value for a in node(graph, "Embedding").attributes}["sparse"] == "True"
    assert slot(graph, "Embedding", "indices").owner == "indices"


def test_cat_has_one_ordered_slot_per_list_element():
    """szagoruyko/pytorchviz#49."""
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    graph = trace_graph(torch.cat([a, torch.tensor([9.0]), b, a]), inputs={"a": a, "b": b})
    assert targets(graph, 0) == ["a", None, "b", "a"]
    assert len(edges_of(trace_graph(torch.stack([a, a, a])), 0)) == 3


def test_full_backward_hook_is_instrumentation_on_both_sides():
    """pytorch/pytorch#61519."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model[0].register_full_backward_hook(lambda module, grad_in, grad_out: None)
    graph = trace_graph(model(torch.ones(1, 2, requires_grad=True)), model)
    chain, number = [], 0
    while number is not None:
        chain.append(graph.nodes[number])
        below = [e.target for e in edges_of(graph, number) if e.target is not None]
        number = next((t for t in below if graph.nodes[t].kind not in ("leaf", "view")), None)
    assert [n.name for n in chain] == [
        "ReluBackward0",
        "BackwardHookFunctionBackward",
        "AddmmBackward0",
        "BackwardHookFunctionBackward",
    ]
    assert [n.kind for n in chain] == ["operation", "hook", "operation", "hook"]


def test_rebinding_a_parameter_makes_it_no_leaf():
    """pytorch/examples#779."""
    w = torch.ones(2, 2, requires_grad=True)
    rebound = w - 0.1 * torch.ones(2, 2)
    graph = trace_graph(rebound, inputs={"w": w})
    assert graph.nodes[0].name == "SubBackward0"
    with torch.no_grad():
        w -= 0.1
    assert slot(trace_graph(w * w, inputs={"w": w}), "Mul", "self").version_now == 1


def test_which_tensor_was_modified_and_where():
    """pytorch/pytorch#18523: sigmoid saved its output, add saved nothing; 7 nodes, 3 empty slots."""
    x = torch.zeros(3, requires_grad=True)
    s, t = torch.sigmoid(x), x + 1
    t.mul_(5)
    s.add_(1)
    graph = trace_graph((s + t).sum(), inputs={"x": x})
    wrong = [(n.name, s.name) for n in graph.nodes for s in n.saved if s.version_saved != s.version_now]
    assert wrong == [("SigmoidBackward0", "result")]
    result = slot(graph, "Sigmoid", "result")
    assert (result.version_saved, result.version_now) == (0, 1)
    assert len(graph.nodes) == 7
    assert sum(e.target is None for e in graph.edges) == 3


def test_a_cast_is_an_operation():
    """pytorch/pytorch#22860: 8 nodes, 7 edges."""
    leaf = torch.ones(2, requires_grad=True)
    a = leaf.double()
    b = torch.ones(2, dtype=torch.double).requires_grad_()
    graph = trace_graph(a.sum() + (b * 3).pow(2).sum(), inputs={"leaf": leaf, "b": b})
    cast = node(graph, "ToCopyBackward0")
    assert targets(graph, cast.id) == ["leaf"]
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (8, 7)


def test_where_keeps_both_branches():
    """pytorch/pytorch#187297: both branches are in the graph, 3 nodes."""
    x = torch.tensor([-4.0, 9.0], requires_grad=True)
    graph = trace_graph(torch.where(x > 0, x.sqrt(), x), inputs={"x": x})
    assert targets(graph, 0) == ["SqrtBackward0", "x"]
    assert len(graph.nodes) == 3


@pytest.mark.parametrize(
    ("reentrant", "input_grad", "top"),
    [
        (True, False, None),
        (True, True, "CheckpointFunctionBackward"),
        (False, False, "AddmmBackward0"),
        (False, True, "AddmmBackward0"),
    ],
)
def test_only_a_reentrant_checkpoint_without_input_gradient_loses_the_graph(reentrant, input_grad, top):
    """pytorch/pytorch#7617, mlfoundations/open_clip#573."""
    model, x = nn.Linear(3, 2), torch.ones(4, 3, requires_grad=input_grad)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        y = checkpoint(model, x, use_reentrant=reentrant)
    graph = trace_graph(y, model, {"x": x})
    assert (graph.nodes[0].name if graph.nodes else None) == top
    assert bool(told) == (top is None)


@pytest.mark.parametrize("preserve", [True, False])
def test_checkpointed_dropout_keeps_no_mask(preserve):
    """openai/guided-diffusion#167: the mask is recomputed, so no slot holds it."""
    x = torch.ones(1000, requires_grad=True)
    plain = trace_graph(nn.functional.dropout(x, 0.5) * 3)
    y = checkpoint(
        lambda t: nn.functional.dropout(t.sin(), 0.5) * 3, x, use_reentrant=False, preserve_rng_state=preserve
    )
    graph = trace_graph(y)
    assert plain.intermediate_bytes > 0
    assert graph.intermediate_bytes == 0
    assert graph.dropped_slots >= 2
    y.sum().backward()
    kept = (x.grad != 0).eq(y != 0).sum().item()
    assert (kept == 1000) == preserve


@pytest.mark.parametrize(("size", "loop_nodes"), [(4, 25), (100, 601)])
def test_a_python_loop_over_a_diagonal_grows_and_the_vector_form_does_not(size, loop_nodes):
    """THUDM/GATNE#115."""
    m = torch.ones(size, size, requires_grad=True)
    assert len(trace_graph(sum(m[i, i] * m[i, i] for i in range(size))).nodes) == loop_nodes
    assert len(trace_graph((m.diagonal() ** 2).sum()).nodes) == 4


def test_skip_connections_from_one_leaf():
    """szagoruyko/pytorchviz#71, streamlit/streamlit#3200: 122 nodes, 181 edges to one leaf."""
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(60):
        y = y * 1.001 + x
    graph = trace_graph(y.sum())
    assert (len(graph.nodes), sum(e.target is not None for e in graph.edges)) == (122, 181)
