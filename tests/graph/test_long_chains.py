"""Graphs with very many nodes in a row: read without recursion, and freed without it."""

import subprocess
import sys
import time
import weakref

import pytest
import torch

from engine.graph import trace_graph
from engine.graph.release import DEEP


def chain(length):
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.0001
    return x, y


def test_twenty_thousand_in_a_row():
    x, y = chain(20_000)
    graph = trace_graph(y, inputs={"x": x})
    assert len(graph.nodes) == 20_001
    assert len(graph.edges) == 40_000
    assert graph.nodes[-1].variable == "x"
    assert [e.target for e in graph.edges[::2]] == list(range(1, 20_001))


FREE = """
import sys
sys.path.insert(0, {path!r})
from engine.graph import trace_graph
from tests.graph.test_long_chains import chain
import weakref
x, y = chain({length})
graph = trace_graph(y, inputs={{"x": x}})
{then}
print("alive", len(graph.nodes))
"""


@pytest.mark.parametrize(
    "then",
    [
        "del y",
        "node = y.grad_fn\nfor _ in range(70_000): node = node.next_functions[0][0]\ndel y\ndel node",
        "node = y.grad_fn.next_functions[0][0]\ndel y\ndel node",
        "y.sum().backward()\ndel y",
        "z = y * 2\ndel y\ndel z",
        "a, b = x, x\nfor _ in range(100_000): a, b = a * 2, b * 2\nz = a + b\ntrace_graph(z)\ndel a, b, y\ndel z",
        "trace_graph(y)\nlate = y * 1\ntrace_graph(late)\ndel y\ndel late",
    ],
)
@pytest.mark.slow
def test_a_hundred_thousand_in_a_row_are_freed_without_overflowing_the_stack(then, pytestconfig):
    program = FREE.format(path=str(pytestconfig.rootpath), length=100_000, then=then)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stdout.strip()) == (0, "alive 100001"), done.stderr


def test_what_a_deep_graph_saves_dies_at_once_with_it():
    held = torch.ones(2)
    watch = weakref.ref(held)
    _, y = chain(DEEP)
    y = y * held
    for _ in range(DEEP):
        y = y * 1.0001
    trace_graph(y)
    del held
    assert watch() is not None
    del y
    assert watch() is None


def test_wide_and_branching_deep_graphs_die_at_once():
    x = torch.ones(2, requires_grad=True)
    states, y = [], x
    watch = weakref.ref(keep := torch.ones(2))
    for _ in range(2 * DEEP):
        y = y * 1.0001 + x * keep
        states.append(y)
    loss = torch.stack(states).sum()
    del keep, y, states
    graph = trace_graph(loss)
    assert len(graph.nodes) == 6 * DEEP + 3
    del loss
    assert watch() is None


def test_a_node_one_keeps_holds_no_more_than_it_reaches():
    """Two chains side by side: the node of one must not keep what the other saved."""
    x = torch.ones(2, requires_grad=True)
    left, right, holds = x, x, []
    for number in range(2 * DEEP):
        held = torch.ones(2)
        left, right = left * 1.0001, right * held
        if number % 500 == 0:
            holds.append(weakref.ref(held))
    del held
    loss = left.sum() + right.sum()
    trace_graph(loss)
    kept = loss.grad_fn.next_functions[0][0]
    assert all(one() is not None for one in holds)
    del loss, right
    assert [one() for one in holds] == [None] * len(holds)
    assert kept.next_functions[0][0] is left.grad_fn


def test_reading_again_after_the_graph_has_grown_changes_nothing():
    _, y = chain(2 * DEEP)
    watch = weakref.ref(held := torch.ones(2))
    y = y * held
    del held
    first = trace_graph(y)
    z = y.exp()
    assert len(trace_graph(z).nodes) == len(first.nodes) + 1
    assert trace_graph(y) == first
    del z
    assert watch() is not None
    del y
    assert watch() is None


@pytest.mark.slow
def test_cost_grows_linearly():
    def per_node(length):
        _, y = chain(length)
        best = min(_seconds(lambda: trace_graph(y)) for _ in range(3))
        return best / length

    assert per_node(80_000) < 2 * per_node(20_000)


def _seconds(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start
