"""trace_graph against graphs derived by hand."""

import torch
from torch import nn

from engine.graph import trace_graph
from tests.graph.reading import edges_of, names, node, slot, targets


def test_product_of_a_leaf_with_itself_has_two_edges_to_one_accumulator_and_saves_nothing_extra():
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    graph = trace_graph(a * a, inputs={"a": a})
    assert names(graph) == ["MulBackward0", "torch::autograd::AccumulateGrad"]
    assert [(e.source, e.output_nr, e.target, e.input_nr) for e in graph.edges] == [(0, 0, 1, 0), (0, 1, 1, 0)]
    assert [s.owner for s in graph.nodes[0].saved] == ["a", "a"]
    assert {s.storage_id for s in graph.nodes[0].saved} == {0}
    assert (graph.saved_bytes, graph.input_bytes, graph.intermediate_bytes) == (12, 12, 0)


def test_every_fact_of_a_linear_layer():
    layer = nn.Linear(3, 4)
    x = torch.randn(5, 3)
    graph = trace_graph(layer(x).relu(), model=layer, inputs={"x": x})
    assert names(graph) == [
        "ReluBackward0",
        "AddmmBackward0",
        "torch::autograd::AccumulateGrad",
        "TBackward0",
        "torch::autograd::AccumulateGrad",
    ]
    assert targets(graph, 1) == ["bias", None, "TBackward0"]  # bias, x (needs no gradient), weight.t()
    assert [one.kind for one in graph.nodes] == ["operation", "operation", "leaf", "view", "leaf"]
    assert [one.variable for one in graph.nodes if one.kind == "leaf"] == ["bias", "weight"]
    addmm = graph.nodes[1]
    assert addmm.inputs[0] == type(addmm.inputs[0])((5, 4), "float32", "cpu")
    assert {a.name: a.value for a in addmm.attributes}["mat1_sym_sizes"] == "(5, 3)"
    mat1 = slot(graph, "Addmm", "mat1")
    assert (mat1.owner, mat1.owner_kind, mat1.shape, mat1.stride) == ("x", "input", (5, 3), (3, 1))
    assert (mat1.bytes, mat1.storage_bytes, mat1.dtype, mat1.device) == (60, 60, "float32", "cpu")
    result = slot(graph, "Relu", "result")
    assert (result.owner, result.owner_kind, result.bytes) == ("ReluBackward0 #0", "intermediate", 80)
    assert graph.saved_bytes == 60 + 80
    assert (graph.input_bytes, graph.parameter_bytes, graph.intermediate_bytes) == (60, 0, 80)


def test_sequence_numbers_order_operations_and_leaves_have_none():
    x = torch.ones(2, requires_grad=True)
    graph = trace_graph((x * 2).exp().sum())
    numbers = [one.sequence_nr for one in graph.nodes]
    assert numbers[-1] is None
    assert numbers[0] == numbers[1] + 1 == numbers[2] + 2


def test_a_view_of_a_parameter_is_the_parameter_in_memory():
    layer = nn.Linear(3, 4, bias=False)
    x = torch.randn(5, 3, requires_grad=True)
    saved = slot(trace_graph(layer(x), model=layer, inputs=[x]), "Mm", "mat2")
    assert (saved.owner, saved.owner_kind, saved.stride, saved.storage_bytes) == ("weight", "parameter", (1, 3), 48)


def test_buffers_own_what_is_saved_of_them():
    norm = nn.BatchNorm1d(3).eval()
    graph = trace_graph(norm(torch.randn(4, 3, requires_grad=True)), model=norm)
    owners = {s.owner for one in graph.nodes for s in one.saved if s.owner_kind == "buffer"}
    assert owners == {"running_mean", "running_var"}
    assert graph.buffer_bytes == 24


def test_an_expanded_tensor_keeps_fewer_bytes_than_it_has_elements():
    x = torch.ones(4, requires_grad=True)
    wide = x.detach().clone().expand(1000, 4)
    saved = slot(trace_graph(x * wide), "Mul", "other")
    assert (saved.bytes, saved.storage_bytes, saved.stride) == (16000, 16, (0, 1))


def test_view_kind_follows_the_schema():
    x = torch.randn(2, 3, 4, requires_grad=True)
    views = {
        "Select": x[0],
        "Slice": x[:, 1:],
        "Transpose": x.transpose(0, 1),
        "Permute": x.permute(2, 0, 1),
        "View": x.view(6, 4),
        "Unsqueeze": x.unsqueeze(0),
        "Squeeze": x.squeeze(),
        "Expand": x.expand(2, 3, 4),
        "Unbind": x.unbind()[0],
        "Split": x.split(1)[0],
        "Diagonal": x.diagonal(),
        "Unfold": x.unfold(2, 2, 1),
        "AsStrided": x.as_strided((2,), (1,)),
        "Alias": torch.ops.aten.alias(x),
        "Conj": torch.view_as_complex(x.reshape(2, 3, 2, 2)).conj(),
        "ViewAsComplex": torch.view_as_complex(x.reshape(2, 3, 2, 2)),
    }
    copies = {"Clone": x.clone(), "Mul": x * 2, "Index": x[[0]], "Cat": torch.cat([x]), "ToCopy": x.double()}
    assert {name for name, y in views.items() if trace_graph(y).nodes[0].kind != "view"} == set()
    assert {name for name, y in copies.items() if trace_graph(y).nodes[0].kind != "operation"} == set()
    unsafe = trace_graph(nn.functional.linear(x, torch.randn(5, 4, requires_grad=True)))
    assert node(unsafe, "UnsafeView").kind == "operation"  # PyTorch declares its result as no alias


def test_negative_dimensions_read_as_written():
    graph = trace_graph(torch.ones(2, 3, requires_grad=True).softmax(-1))
    assert [(a.name, a.value) for a in graph.nodes[0].attributes] == [("dim", "-1")]


def test_equal_but_differently_typed_attributes_are_not_confused():
    x = torch.ones(2, requires_grad=True)
    graph = trace_graph(
        torch.add(torch.add(torch.add(x, x, alpha=1), x, alpha=1.0), x, alpha=0.0) + torch.add(x, x, alpha=-0.0)
    )
    alphas = [a.value for one in graph.nodes for a in one.attributes if a.name == "alpha"]
    assert sorted(alphas) == ["-0.0", "0.0", "1", "1", "1.0"]


def test_list_saved_slots_are_flattened():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    rows, columns = torch.tensor([0, 1]), torch.tensor([2, 2])
    saved = trace_graph(x[rows, columns], inputs={"rows": rows, "columns": columns}).nodes[0].saved
    assert [(s.name, s.owner, s.dtype) for s in saved] == [
        ("indices[0]", "rows", "int64"),
        ("indices[1]", "columns", "int64"),
    ]


def test_foreach_operations_are_read_or_say_that_they_cannot_be():
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    norms = trace_graph(torch._foreach_norm([a, b]), inputs=[a, b])
    assert len(norms.roots) == 2
    assert {s.owner for one in norms.nodes for s in one.saved} >= {"input[0]", "input[1]"}
    closed = trace_graph(torch._foreach_mul([a, b], [a, b]), inputs=[a, b])
    assert ["no reader" in s.unavailable for s in closed.nodes[0].saved] == [True]
    assert targets(closed, 0) == ["input[0]", "input[1]"] * 2  # one node for the whole list


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, wanted):
        result = x * factor
        ctx.save_for_backward(x, None, result)
        ctx.factor, ctx.kept = factor, x.detach().clone()
        return result

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None, None


def test_custom_function_slots_attributes_and_inputs():
    x = torch.ones(3, requires_grad=True)
    graph = trace_graph(Scale.apply(x, 2.5, "text"), inputs={"x": x})
    top = graph.nodes[0]
    assert (top.name, top.kind) == ("ScaleBackward", "custom_function")
    assert [(s.name, s.owner) for s in top.saved] == [
        ("saved_tensors[0]", "x"),
        ("saved_tensors[1]", ""),
        ("saved_tensors[2]", "ScaleBackward #0"),
    ]
    assert top.saved[1].unavailable.startswith("empty")
    assert {a.name: a.value for a in top.attributes} == {"factor": "2.5", "kept": "Tensor (3,) float32"}
    assert len(edges_of(graph, 0)) == 1  # only tensor arguments have a slot


class SavesNothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g


def test_custom_function_that_saves_nothing():
    top = trace_graph(SavesNothing.apply(torch.ones(2, requires_grad=True))).nodes[0]
    assert (top.saved, top.attributes) == ((), ())


def test_incoming_gradients_one_per_output():
    x = torch.ones(3, 2, requires_grad=True)
    values, _ = torch.sort(x)
    first, _, last = x
    assert [i.shape for i in trace_graph(values).nodes[0].inputs] == [(3, 2)]
    assert [i.shape for i in trace_graph(first + last).nodes[1].inputs] == [(2,), (2,), (2,)]


def test_copy_slices_and_what_it_rewrote():
    x = torch.ones(3, 2, requires_grad=True)
    v = torch.zeros(2, requires_grad=True)
    y = x * 2
    y[0] = v
    graph = trace_graph(y, inputs={"x": x, "v": v})
    assert graph.nodes[0].kind == "copy_slices"
    assert targets(graph, 0) == ["MulBackward0", "v"]


def test_hooks_are_named_on_leaves_roots_and_saved_intermediates():
    def on_leaf(g):
        return g

    def after(p):
        return None

    def on_middle(g):
        return g

    def on_root(g):
        return g

    x = torch.ones(2, requires_grad=True)
    x.register_hook(on_leaf)
    x.register_post_accumulate_grad_hook(after)
    middle = x * 2
    middle.register_hook(on_middle)
    root = (middle * middle).sum()
    root.register_hook(on_root)
    graph = trace_graph(root)
    by_name = {one.name.removeprefix("torch::autograd::"): one.hooks for one in graph.nodes if one.hooks}
    assert by_name["SumBackward0"] == ("tensor hook on_root",)
    assert by_name["MulBackward0"] == ("tensor hook on_middle",)
    assert by_name["AccumulateGrad"] == ("tensor hook on_leaf", "post-accumulate hook after")


def test_leaves_nobody_named_are_numbered():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    graph = trace_graph(a * b)
    assert [one.variable for one in graph.nodes if one.kind == "leaf"] == ["leaf[0]", "leaf[1]"]
    assert {s.owner for s in graph.nodes[0].saved} == {"leaf[0]", "leaf[1]"}


def test_tied_weights_have_one_name_and_one_storage():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Linear(3, 3, bias=False)
            self.decode = nn.Linear(3, 3, bias=False)
            self.decode.weight = self.encode.weight

        def forward(self, x):
            return self.decode(self.encode(x))

    model = Tied()
    graph = trace_graph(model(torch.ones(2, 3, requires_grad=True)), model=model)
    leaves = [one.variable for one in graph.nodes if one.kind == "leaf"]
    assert sorted(leaves) == ["encode.weight", "leaf[0]"]
    assert graph.parameter_bytes == 36


def test_ids_are_positions_and_the_same_graph_reads_the_same_twice():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    y = model(torch.randn(5, 3))
    first, second = trace_graph(y, model), trace_graph(y, model)
    assert first == second
    assert [one.id for one in first.nodes] == list(range(len(first.nodes)))
    again = trace_graph(model(torch.randn(5, 3)), model)
    assert (again.edges, names(again), again.saved_bytes) == (first.edges, names(first), first.saved_bytes)
