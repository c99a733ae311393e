"""What reading a recorded graph costs per node, against torchviz and against a bare walk over the edges.

`python -m benchmarks.graph_walk` prints every case, `--json` the same as JSON.

Both sides do what a reader gets: `trace_graph(loss, model=model, inputs=inputs)` with every fact, modules and source
lines included, and `make_dot(loss, params=dict(model.named_parameters()), show_attrs=True, show_saved=True)`, as
torchviz's README has it. Networks are those the product builds, with the real node counts; GPT-2 small is narrower (96
for 768), which changes no node. Rounds alternate, time is thread CPU time, garbage collection is held back on both
sides, and the ratio is the median of paired ratios. "again" reads one graph over and over; "first" reads a graph nobody
looked at before, where both sides also pay for PyTorch's wrapper of every node, and ours for indexing noted lines.

"getters" is what bounds a walk in Python: every value PyTorch keeps, asked for once and thrown away, no row built.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
import torchviz

from benchmarks.row import Row
from engine import recorded
from engine.graph import record_forward, trace_graph
from engine.models.architecture import AnyArchitecture, Gpt, Recurrent, ResNet
from engine.models.build import build
from engine.models.spec import ModelSpec
from engine.timing import Clock, compare
from engine.timing.band import paired_ratio
from engine.timing.spec import Comparison, Ratio

TARGET_US = 15.0
TARGET_RATIO = 1 / 12
LINEAR = 1.3
"""A chain five times as long may cost this much more per node: caches get colder, the work does not grow."""

CHAINS = (20_000, 100_000)
ROUNDS = 9
LONG_ROUNDS = 5


@dataclass(frozen=True)
class Shape:
    """A recorded forward: its loss, and what `trace_graph` names things by."""

    name: str
    loss: torch.Tensor
    model: torch.nn.Module | None
    inputs: dict[str, torch.Tensor] | None


@dataclass(frozen=True)
class Cost:
    """Median thread CPU microseconds per node, and the walk's paired ratio to torchviz with attributes and saved."""

    shape: str
    nodes: int
    walk_us: float
    edges_us: float
    getters_us: float
    torchviz_us: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    first: Ratio | None = None
    """The same ratio on graphs that are read for the first time."""


def measure() -> list[Row]:
    """Walk and ratio of every shape, and whether the cost per node stays the same on long chains."""
    costs = measure_costs()
    rows = [row for cost in costs for row in _rows(cost)]
    short, long = (next(cost for cost in costs if cost.nodes == 1 + length) for length in CHAINS)
    grows = f"per node: {long.walk_us:.1f} us at {CHAINS[1]:,} / {short.walk_us:.1f} us at {CHAINS[0]:,}"
    return [*rows, Row("graph walk: growth with length", long.walk_us / short.walk_us, LINEAR, "x", grows)]


def measure_costs() -> list[Cost]:
    """One cost per shape; torchviz is left out on the longest chain, which takes it 20 s a round."""
    networks: list[tuple[str, AnyArchitecture]] = [
        ("ResNet-50 shape", ResNet(variant="resnet50")),
        ("GPT-2 small shape", Gpt(layers=12, heads=12, width=96, sequence=32)),
        ("GPT-2, explicit", Gpt(layers=12, heads=12, width=96, sequence=32, attention="explicit")),
        ("LSTM, 200 steps", Recurrent(cell="lstm", steps=200)),
        ("LSTM by hand", Recurrent(cell="hand_written_lstm", steps=200)),
    ]
    costs = [_network_cost(name, architecture) for name, architecture in networks]
    costs.append(_cost(_chain(CHAINS[0]), LONG_ROUNDS))
    return [*costs, _cost(_chain(CHAINS[1]), LONG_ROUNDS, against_torchviz=False)]


def _network(name: str, architecture: AnyArchitecture) -> Shape:
    built = build(ModelSpec(architecture=architecture, batch=1))
    with record_forward(built.model):
        loss = built.loss(built.forward())
    return Shape(name, loss, built.model, built.inputs)


def _network_cost(name: str, architecture: AnyArchitecture) -> Cost:
    cost = _cost(_network(name, architecture), ROUNDS)
    return replace(cost, first=_first_reading(name, architecture, cost.nodes))


def _first_reading(name: str, architecture: AnyArchitecture, nodes: int) -> Ratio:
    """Every timing on a graph of its own."""
    seconds: dict[Callable[[Shape], object], list[float]] = {walk: [], draw: []}
    with _recursion_room(8 * nodes):
        for number in range(ROUNDS):
            for side in [walk, draw] if number % 2 else [draw, walk]:
                seconds[side].append(_seconds_on_new(side, name, architecture))
    return paired_ratio("walk", "torchviz", seconds[walk], seconds[draw])


def _seconds_on_new(side: Callable[[Shape], object], name: str, architecture: AnyArchitecture) -> float:
    shape = _network(name, architecture)
    return Clock().thread_seconds(lambda: side(shape))


def walk(shape: Shape) -> object:
    """Our side: the graph with everything."""
    return trace_graph(shape.loss, model=shape.model, inputs=shape.inputs)


def draw(shape: Shape) -> object:
    """torchviz's side, parameters named as its README does."""
    params = dict(shape.model.named_parameters()) if shape.model is not None else shape.inputs
    return torchviz.make_dot(shape.loss, params=params, show_attrs=True, show_saved=True)


def _chain(length: int) -> Shape:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.0001
    return Shape(f"chain of {length:,}", y, None, {"x": x})


def _cost(shape: Shape, rounds: int, against_torchviz: bool = True) -> Cost:
    nodes = len(trace_graph(shape.loss, shape.model, shape.inputs).nodes)
    bare = _against(shape, "edges", lambda: walk_edges(shape.loss), rounds)
    getters = _against(shape, "getters", lambda: ask_everything(shape.loss), rounds)
    other = None
    if against_torchviz:
        with _recursion_room(8 * nodes):
            other = _against(shape, "torchviz", lambda: draw(shape), rounds)
    per_node = 1e6 / nodes
    return Cost(
        shape.name,
        nodes,
        bare.seconds_of("walk") * per_node,
        bare.seconds_of("edges") * per_node,
        getters.seconds_of("getters") * per_node,
        other.seconds_of("torchviz") * per_node if other else None,
        other.ratio if other else None,
        other.ratio_low if other else None,
        other.ratio_high if other else None,
    )


def _against(shape: Shape, name: str, other: Callable[[], object], rounds: int) -> Comparison:
    """One call of each per round; the ratio is the walk's time to the other's."""
    return compare({name: other, "walk": lambda: walk(shape)}, rounds=rounds, minimum_sample_s=0)


@contextmanager
def _recursion_room(frames: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def walk_edges(loss: torch.Tensor) -> list[Any]:
    """The least a walk can do: every node and edge once, nothing read."""
    order: list[Any] = [loss.grad_fn]
    seen = set(order)
    for node in order:
        for target, _ in node.next_functions:
            if target is not None and target not in seen:
                seen.add(target)
                order.append(target)
    return order


def ask_everything(loss: torch.Tensor) -> None:
    """Every getter of PyTorch that the walk needs, once per node, gradient and dense saved tensor."""
    for node in walk_edges(loss):
        recorded.read_sequence_nr(node)
        for metadata in recorded.read_incoming(node):
            recorded.read_metadata(metadata)
        layout = recorded.layout_of(node)
        layout.read_plain(node)
        if layout.slots:
            held = layout.read_slots(node)
            for raw in held if type(held) is tuple else (held,):
                _ask_slot(raw)


def _ask_slot(raw: Any) -> None:
    for one in raw if type(raw) is tuple else (raw,):
        _, tensor = recorded.read_raw(one)
        if tensor is not None:
            recorded.read_tensor(tensor)
            tensor.stride()
            recorded.storage_key(tensor.untyped_storage())


def _rows(cost: Cost) -> list[Row]:
    bare = f"{cost.nodes:,} nodes; edges only {cost.edges_us:.1f} us, getters {cost.getters_us:.1f} us"
    rows = [Row(f"graph walk: {cost.shape}", cost.walk_us, TARGET_US, "us", bare)]
    if cost.ratio is not None:
        detail = f"torchviz {cost.torchviz_us:.0f} us a node; 95 % band {cost.ratio_low:.4f} to {cost.ratio_high:.4f}"
        rows.append(Row(f"graph walk / torchviz: {cost.shape}", cost.ratio, TARGET_RATIO, "x", detail))
    if cost.first is not None:
        detail = f"every graph read once; 95 % band {cost.first.low:.4f} to {cost.first.high:.4f}"
        rows.append(Row(f"graph walk / torchviz, first: {cost.shape}", cost.first.ratio, TARGET_RATIO, "x", detail))
    return rows


def _part(ratio: float | None) -> str:
    return "-" if ratio is None else f"1/{1 / ratio:.1f}"


def main(arguments: Sequence[str]) -> int:
    """Print the costs as a table or, with `--json`, as JSON."""
    costs = measure_costs()
    if "--json" in arguments:
        print(json.dumps([asdict(cost) for cost in costs], indent=1))
        return 0
    times = f"{'nodes':>9}{'walk us':>9}{'edges us':>10}{'getters us':>12}{'torchviz us':>13}"
    print(f"{'shape':<20}{times}{'again':>9}  {'band':<16}{'first':>8}")
    for cost in costs:
        torchviz_us = "-" if cost.torchviz_us is None else f"{cost.torchviz_us:.0f}"
        band = (
            "" if not cost.ratio_low or not cost.ratio_high else f"{_part(cost.ratio_high)} to {_part(cost.ratio_low)}"
        )
        times = f"{cost.nodes:>9,}{cost.walk_us:>9.1f}{cost.edges_us:>10.1f}{cost.getters_us:>12.1f}{torchviz_us:>13}"
        first = _part(cost.first.ratio if cost.first else None)
        print(f"{cost.shape:<20}{times}{_part(cost.ratio):>9}  {band:<16}{first:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
