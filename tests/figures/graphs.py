"""Graphs made by hand, and random ones: what the figures are tested on."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from engine.graph.spec import Edge, Graph, Node, Root, Saved, TensorMetadata

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"; shape=none; "',
    "\u202etxt.exe\u202c",
    'a\\"b\n\r\tc',
    "x" * 10_000,
    "\x00\x07\x1b[31m",
    "]]><!--&amp;",
    "=HYPERLINK(1)",
)


def saved(storage: int, count_bytes: int, dropped: bool = False, owner: str = "intermediate") -> Saved:
    """A float32 slot over its own storage."""
    shape = (count_bytes // 4,)
    return Saved("self", shape, "float32", (1,), "cpu", count_bytes, count_bytes, storage, "", owner, 0, 0, dropped)


def node(number, name, module="", *, kind="operation", sequence=None, shape=(4, 8), slots=(), variable=""):
    """One node with a single float32 output."""
    metadata = (TensorMetadata(shape, "float32", "cpu"),)
    return Node(number, name, kind, sequence, (), metadata, tuple(slots), module, None, (), variable)


def leaf(number, variable, module="", shape=(8, 8)):
    """An AccumulateGrad."""
    name = "torch::autograd::AccumulateGrad"
    return node(number, name, module, kind="leaf", shape=shape, variable=variable)


def graph(nodes, edges, roots=(("loss", 0),)):
    """Edges as (consumer, slot, producer or None)."""
    return Graph.of(
        nodes=tuple(nodes),
        edges=tuple(Edge(source, slot, target, 0) for source, slot, target in edges),
        roots=tuple(Root(name, at, 0, (), "float32") for name, at in roots),
    )


def linear_relu():
    """loss <- Relu <- Addmm(bias, x, T(weight)): what Linear + ReLU + sum records, x needing no gradient."""
    return graph(
        [
            node(0, "SumBackward0", sequence=3, shape=()),
            node(1, "ReluBackward0", "act", sequence=2, slots=[saved(0, 128)]),
            node(2, "AddmmBackward0", "lin", sequence=1, slots=[saved(1, 64), saved(2, 256, owner="parameter")]),
            leaf(3, "lin.bias", "lin", (8,)),
            node(4, "TBackward0", "lin", kind="view", sequence=0, shape=(8, 8)),
            leaf(5, "lin.weight", "lin"),
        ],
        [(0, 0, 1), (1, 0, 2), (2, 0, 3), (2, 1, None), (2, 2, 4), (4, 0, 5)],
    )


def tied_loop(steps: int):
    """One weight used in every step; T is recorded anew each time."""
    nodes, edges = [node(0, "SumBackward0", sequence=2 * steps)], []
    weight = 2 * steps + 1
    for step in range(steps):
        multiply, transpose = 1 + 2 * step, 2 + 2 * step
        nodes.append(node(multiply, "MmBackward0", "step", sequence=2 * (steps - step) - 1))
        nodes.append(node(transpose, "TBackward0", "step", kind="view", sequence=2 * (steps - step) - 2))
        edges.append((multiply - 2 if step else 0, 0, multiply))
        edges += [(multiply, 1, transpose), (transpose, 0, weight)]
    return graph([*nodes, leaf(weight, "step.weight", "step")], edges)


def chain(length: int, module: str = "", period: tuple[str, ...] = ("MulBackward0", "AddBackward0")):
    """A chain of operations in one module, loss first."""
    nodes = [node(i, period[i % len(period)], module, sequence=length - i) for i in range(length)]
    return graph(nodes, [(i, 0, i + 1) for i in range(length - 1)])


MODULES = ("", "a", "a.b", "a.c", "d", "d.0", "d.1", "d.1.x")
NAMES = ("AddBackward0", "MulBackward0", "TBackward0", "ViewBackward0", "ToCopyBackward0", "ReluBackward0")


def random_graphs(largest: int = 40):
    """Random acyclic graphs with leaves, views and empty slots; built from a seed, which keeps drawing fast."""
    return st.builds(random_graph, st.integers(0, 2**32), st.integers(1, largest))


def random_graph(seed: int, count: int) -> Graph:
    """Every edge leads from a consumer to a node made earlier."""
    dice = Random(seed)
    nodes, edges = [], []
    for number in range(count):
        module = dice.choice(MODULES)
        if number and dice.random() < 0.2:
            nodes.append(leaf(number, f"{module}.w{number}".strip("."), module))
            continue
        slots = [saved(number, 4 * dice.randint(1, 1000), dice.random() < 0.5)] if dice.random() < 0.5 else []
        nodes.append(node(number, dice.choice(NAMES), module, sequence=count - number, slots=slots))
    for consumer in (found for found in nodes if found.kind != "leaf"):
        for slot in range(dice.randint(0, 3)):
            later = dice.randint(consumer.id + 1, count)
            edges.append((consumer.id, slot, later if later < count else None))
    return graph(nodes, edges)
