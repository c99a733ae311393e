"""What a reader points at in a picture that plays: the steps of a node, the gradients of a step or of a wire."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from engine.replay.spec import Replay, Step
from engine.summary import TensorSummary


class Looked(msgspec.Struct, frozen=True):
    """A gradient with where it is: "received 0" by a step, "returned 1", or the edge it flowed along."""

    where: str
    summary: TensorSummary | None
    step: int


def steps_of(replay: Replay, nodes: Collection[int]) -> tuple[Step, ...]:
    """The steps that ran any of these nodes, in the engine's order."""
    return tuple(step for step in replay.steps if step.node in nodes)


def gradients_of(replay: Replay, step: Step) -> tuple[Looked, ...]:
    """What a step received, then what it returned, slot by slot."""
    found = [Looked(f"received {slot}", _summary(replay, at), step.number) for slot, at in enumerate(step.received)]
    found += [Looked(f"returned {slot}", _summary(replay, at), step.number) for slot, at in enumerate(step.returned)]
    for one in replay.accumulations:
        if one.step == step.number:
            found.append(Looked(f"{one.leaf}.grad before", _summary(replay, one.before), step.number))
            found.append(Looked(f"{one.leaf}.grad after", _summary(replay, one.after), step.number))
    return tuple(found)


def gradients_between(replay: Replay, one: Collection[int], other: Collection[int]) -> tuple[Looked, ...]:
    """What flowed along the edges between these nodes, in every pass, in the engine's order."""
    first, second = set(one), set(other)
    graph = replay.graph
    slots: dict[int, list[tuple[int, int]]] = {}
    for edge in graph.edges:
        if edge.target is None or edge.source in first & second or edge.target in first & second:
            continue
        crosses = (edge.source in first and edge.target in second) or (edge.source in second and edge.target in first)
        if crosses:
            slots.setdefault(edge.source, []).append((edge.output_nr, edge.target))
    found = []
    for step in replay.steps:
        for output_nr, target in slots.get(-1 if step.node is None else step.node, ()):
            if output_nr < len(step.returned):
                where = f"{_pass(replay, step)}{step.name} output {output_nr} → {graph.node_names[target]}"
                found.append(Looked(where, _summary(replay, step.returned[output_nr]), step.number))
    return tuple(found)


def members_of(members: Mapping[str, tuple[int, ...]], text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Nodes of the two boxes of a wire, as the canvas names it: two addresses, one a line."""
    source, _, target = text.partition("\n")
    return tuple(members.get(source, ())), tuple(members.get(target, ()))


def _pass(replay: Replay, step: Step) -> str:
    return f"pass {step.pass_number + 1}: " if len(replay.passes) > 1 else ""


def _summary(replay: Replay, at: int | None) -> TensorSummary | None:
    return None if at is None else replay.gradients[at]
