"""Any structure of outputs: named roots, notes for what is no tensor, reasons for what has no grad_fn."""

import dataclasses
from typing import NamedTuple

import torch
from torch import nn

from engine.graph import trace_graph


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: tuple


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


def roots(outputs):
    return {root.name: root for root in trace_graph(outputs).roots}


def test_names_follow_the_structure():
    x = torch.ones(2, requires_grad=True)
    outputs = {
        "logits": x * 2,
        "all": [x + 1, (x - 1, Pair(x.exp(), x.sin()))],
        3: Output(x.cos(), (x.tan(),)),
    }
    assert list(roots(outputs)) == [
        "output['logits']",
        "output['all'][0]",
        "output['all'][1][0]",
        "output['all'][1][1].left",
        "output['all'][1][1].right",
        "output[3].logits",
        "output[3].hidden[0]",
    ]
    assert list(roots(x * 2)) == ["output"]


def test_what_is_no_tensor_is_skipped_with_a_note():
    x = torch.ones(2, requires_grad=True)
    graph = trace_graph({"y": x * 2, "cache": None, "steps": 3, "label": "text"})
    assert [root.name for root in graph.roots] == ["output['y']"]
    assert graph.notes == (
        "output['cache'] is skipped: None",
        "output['steps'] is skipped: int, not a tensor",
        "output['label'] is skipped: str, not a tensor",
    )


def test_a_container_that_holds_itself_ends():
    loop: list = [torch.ones(1, requires_grad=True) * 2]
    loop.append(loop)
    graph = trace_graph(loop)
    assert len(graph.nodes) == 2
    assert "not followed" in graph.notes[-1]


def test_reasons_for_no_grad_fn():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        inferred = torch.ones(2) * 2
    found = roots([x, x.detach(), inferred, nn.Linear(2, 2)(torch.ones(1, 2)) * 1])
    assert "leaf" in found["output[0]"].note
    assert "does not require grad" in found["output[1]"].note
    assert "inference_mode" in found["output[2]"].note
    assert found["output[3]"].note == ""
    assert [root.node is None for root in found.values()] == [True, True, True, False]


class Tagged(torch.Tensor):
    pass


def test_a_tensor_subclass_names_its_type_and_base():
    (root,) = trace_graph(Tagged(torch.arange(3.0))).roots
    assert root.node is None
    assert root.note.startswith("Tagged, a view of a Tensor")


def test_a_view_whose_base_was_written_gives_the_error_of_pytorch_as_its_note():
    base = torch.ones(4, 2, requires_grad=True) * 1
    rows = base.unbind()
    base.mul_(2)
    (root,) = trace_graph(rows[0]).roots
    assert (root.node, "is a view and its base" in root.note) == (None, True)


def test_roots_share_the_graph_below_them():
    torch.manual_seed(0)
    trunk, first, second = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)
    z = torch.relu(trunk(torch.randn(5, 3)))
    graph = trace_graph([first(z), second(z)])
    assert len(graph.nodes) == 13
    assert [root.node for root in graph.roots] == [0, 1]
    assert sum(node.kind == "leaf" for node in graph.nodes) == 6
    assert sum(node.name == "ReluBackward0" for node in graph.nodes) == 1


def test_output_number_of_a_root():
    rows = torch.ones(3, 2, requires_grad=True).unbind()
    assert [root.input_nr for root in trace_graph(rows).roots] == [0, 1, 2]


def test_no_outputs_at_all():
    graph = trace_graph(())
    assert (graph.nodes, graph.edges, graph.roots, graph.saved_bytes) == ((), (), (), 0)
