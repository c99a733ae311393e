"""Random expressions: the walk finds exactly `next_functions`, and the bytes that `saved_tensors_hooks` sees."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.graph import trace_graph
from tests.graph.reading import bytes_by_hooks, recursive_edges

UNARY = [
    torch.exp,
    torch.sin,
    torch.sigmoid,
    torch.relu,
    lambda t: t.t(),
    lambda t: t * 2,
    lambda t: t + 1,
    lambda t: t.clone(),
    lambda t: t.softmax(-1),
    lambda t: t.flip(0),
    lambda t: torch.stack([t, t]).sum(0),
    lambda t: t.reshape(-1).view(3, 3),
    lambda t: t[[2, 0, 1]],
    lambda t: t.unbind()[1].expand(3, 3),
    lambda t: t.detach() * t,
    lambda t: torch.nn.functional.layer_norm(t, (3,)),
    lambda t: t.sort(dim=0).values,
    lambda t: t.double().float(),
]
BINARY = [
    torch.add,
    torch.mul,
    torch.mm,
    torch.maximum,
    lambda a, b: torch.cat([a, b])[1:4],
    lambda a, b: a / (b.abs() + 1),
]

steps = st.lists(
    st.tuples(st.sampled_from(UNARY + BINARY), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=14
)


def compute(recipe, leaves):
    values = list(leaves)
    for operation, first, second in recipe:
        a, b = values[first % len(values)], values[second % len(values)]
        values.append(operation(a, b) if operation in BINARY else operation(a))
    return sum(value.sum() for value in values[len(leaves) :])


@settings(max_examples=60, deadline=None)
@given(steps, st.tuples(st.booleans(), st.booleans(), st.just(True)))
def test_edges_and_bytes(recipe, requires_grad):
    torch.manual_seed(0)
    leaves = [torch.randn(3, 3, requires_grad=wanted) for wanted in requires_grad]
    loss = compute(recipe, leaves)
    if loss.grad_fn is None:
        assert trace_graph(loss).nodes == ()
        return
    graph = trace_graph(loss, inputs=leaves)
    expected = recursive_edges(loss.grad_fn)
    assert len(graph.edges) == len(expected)
    assert len(graph.nodes) == len({one for one, *_ in expected} | {t for *_, t, _ in expected if t is not None})
    names = [
        (graph.nodes[e.source].name, e.output_nr, e.target is not None and graph.nodes[e.target].name, e.input_nr)
        for e in graph.edges
    ]
    assert sorted(map(str, names)) == sorted(
        str((one.name(), number, target is not None and target.name(), input_nr))
        for one, number, target, input_nr in expected
    )
    _, held = bytes_by_hooks(lambda: compute(recipe, leaves))
    assert graph.saved_bytes == held
    assert (
        graph.saved_bytes == graph.input_bytes + graph.intermediate_bytes + graph.parameter_bytes + graph.buffer_bytes
    )
